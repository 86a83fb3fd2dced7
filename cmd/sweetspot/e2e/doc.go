// Package e2e holds the tests that drive the real command against a real inference server.
//
// It has no code of its own: the tests build the command, start vLLM on the CPU with the tiny model of .ci/tiny_model.py, and hold the stored
// results against the server's own counters. They run when SWEETSPOT_E2E is 1, as .ci/run sets it.
package e2e
