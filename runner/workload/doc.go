// Package workload makes what is asked: prompts of a wanted length and the session trees they belong to.
//
// The same seed and specification give the same text on every machine, the run's nonce aside. Making a request is done ahead of the clock; sending
// it is package client's, and deciding when is package runner's.
package workload
