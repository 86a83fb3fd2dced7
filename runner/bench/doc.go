// Package bench proves the load engine: it drives it against the simulated service at a fixed rate, which is a process of its own and keeps a
// log of what it read and wrote when, and compares the two on the machine's one clock.
//
// [Measure] runs a tool once: the engine (packages runner and client), or the floor that no client gets below, which is one goroutine per socket
// or one thread with epoll that write the same requests and only count events. [Match] holds what a tool stamped against the service's log.
// [Calibrate] measures this client on this machine, level by level, and [Calibration.Words] says up to where it can be trusted.
//
// Nothing here decides how hard a real service is driven, and no figure of a run comes from here. Package bench/table prints the comparison;
// docs/performance.md has its figures.
package bench
