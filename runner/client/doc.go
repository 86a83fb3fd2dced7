// Package client sends one request to an OpenAI-compatible service and records what came back: every instant, the status, the tokens.
//
// It streams over HTTP/1.1 or HTTP/2, cuts the response into server-sent events, stamps each when its bytes arrive and decodes it
// only then. It never retries, follows no redirect and uses no proxy: what the service did with one request is what the record says. It
// decides nothing about load: the runner says when a request is sent, and fills in what is known before. [Preflight] asks, before the first
// point, whether the service can be measured at all.
package client
