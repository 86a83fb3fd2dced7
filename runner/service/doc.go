// Package service is what is driven: a service that is already running, one that commands start, or the simulated one, started as a child process over
// real HTTP.
//
// [Start] gives the URLs and the key that package client needs, asks the service what it is, resets its prefix cache, and ends what it
// started. Nothing that it started outlives the process that started it, however that one ends: each child reads its standard input and stops when
// that is closed. The simulated service is such a child ([ServeChild]); commands belong to another ([Supervise]), which ends every process that came of
// them. No load is made here, and whether a service can be measured is looked at by package client's Preflight.
package service
