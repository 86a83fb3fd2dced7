// Package runner drives one point: it decides when each request is sent, and nothing else does.
//
// [Run] takes the load of a point, its sessions and a way to send, and returns every request as it went. A closed loop runs as many lanes as
// sessions shall be live; an open loop starts sessions at the instants of package pacer. Either walks session trees (package workload), each
// request of which takes its slots from package slots. The point goes through its phases on the same lanes: warmup, the cache warmup of agentic
// replay, measured, hold with the context probe, drain.
//
// The package makes no request's text, speaks no HTTP, stores nothing and computes no statistics. It can be run from a serialised [Point] alone.
//
// How phases, trees and failures are treated:
//
//   - A request belongs to the phase in which it was dispatched. Phases change at an instant, without draining; what is in flight keeps its slots,
//     and nothing is dispatched while more is in flight than the new phase's cap allows.
//   - Exactly [Point.Requests] measured requests are dispatched, in trees as well: once they are, no tree's next turn is sent. The load is then at
//     its full height until the last measured dispatch, where completing the trees would let it sink. Turns of trees that began in warmup are
//     measured if they are dispatched in the measured phase.
//   - A turn whose request was not ok ends its session: the turns after it and its forks would ask what no user asks. Forks that run already
//     go on, and the tree ends with the last of them.
//   - A request that failed stops nothing else. Where only time bounds a phase (a duration, a ramp, the hold phase), a lane whose session failed
//     starts its next one no sooner than 100 ms after the start of that one, so that a service which refuses everything is not hammered
//     as fast as it refuses. Where a count bounds the phase there is no such pause.
//   - In agentic replay the load is met as if it had been there for long. Each lane starts inside a session, at a turn drawn from a share of its
//     turns. A burst of requests for one token each, in a phase of its own, first brings the prompts before those turns into the service's prefix
//     cache; the measured phase begins when the last of them has ended, and each lane goes on with its turn, after a drawn part of the pause before
//     it: so lanes do not go on all at once. Sessions of warmup end with what they have in flight when the burst begins, and those that lanes start
//     after the burst begin at their first turn. What the turns before a lane's start forked is over; what they were answered is what the workload
//     takes for it: see [workload.Replay]. A request of the burst that fails fails the point.
package runner
