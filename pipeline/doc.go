// Package pipeline turns a preset into a plan and carries the plan out: trials, their points and repeats, one after the other.
//
// [NewPlan] is pure: the same preset gives the same plan, with ids that are hashes of what is measured. [Execute] starts services, has each point
// measured, stores its row, judges each trial, and goes on where a killed or interrupted run stopped; a point that fails is a row with its
// reason. [Read] builds the document that commands print from stored rows and a rule.
//
// The package sends no request and keeps no file format: measuring is given to it as a function, storing is package results', choosing package selector's.
// A [Job] can be written as JSON and measured elsewhere.
package pipeline
