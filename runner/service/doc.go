// Package service is what is driven: a service that is already running, or the simulated one, started as a child process over real HTTP.
//
// [Start] gives the URLs and the key that package client needs, asks the service what it is, resets its prefix cache, and ends what it
// started. A child does not outlive the process that started it, however that one ends: it reads its standard input and stops when that is
// closed. The child's half is [ServeChild]. No load is made here, and whether a service can be measured is looked at by package client's
// Preflight.
package service
