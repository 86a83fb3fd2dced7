// Package workload makes what is asked: prompts of a wanted length and the session trees they belong to.
//
// The same seed and specification give the same text on every machine, the run's nonce aside. There is no tokenizer in it: [Calibrate] learns from
// the service's own count how many words make a prompt, and how to meet a length exactly. Making a request is done ahead of the clock; sending it
// is package client's, and deciding when is package runner's.
package workload
