// Package simulator is a simulated GPU service: a real HTTP server with the OpenAI-compatible API of vLLM over a model of continuous batching.
//
// The model (type model) is pure: requests go in, steps of so many prefill tokens and decoding sequences come out, and their lengths are a
// function of the batch. It has chunked prefill under max_num_batched_tokens, KV blocks with queueing and preemption by recomputing,
// max_num_seqs and a prefix cache, so throughput reaches a plateau and time to first token a cliff where a real service's do. One goroutine
// (type engine) plays the steps in real time while there is work; each request's handler writes its events. It is a model: no text is
// understood, and a [Profile] stands for a kind of machine without being a measurement of one.
//
// Where vLLM was seen to behave in a way that matters to a client, the service behaves like it (the wire format, the names of /metrics, the
// errors), with two differences that favour finding a client's faults: the role-only first event is sent as soon as a request is accepted,
// long before its first token; and a prompt and max_tokens that together exceed max_model_len are refused, where newer versions of vLLM
// shorten the answer. Several choices (n), logprobs, stop strings and sampling parameters are beyond it.
//
// For benchmarks of clients, [Paced] puts a fixed rate in the place of the model. A [schema.Fault] makes chosen requests go wrong. What was
// written when is kept in a log of its own ([Log], [ReadLog]). Starting the service as a child process is package service's.
package simulator
