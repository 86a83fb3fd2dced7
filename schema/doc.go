// Package schema is the specification of a preset: its CUE definitions, loading and validating files, the sweep grammar, and the Go types.
//
// The .cue files of this folder are the only source of the specification. [Read] reads a preset from CUE, YAML or JSON, fills in defaults,
// expands trials and points, checks each of them, and gives either a [Preset] or every problem found with its place in the file. The package
// starts nothing and touches no network; planning the work is package pipeline's.
package schema
