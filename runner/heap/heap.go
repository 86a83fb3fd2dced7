// Package heap says when this process collects garbage: not while it is small, and less often while it drives a load. Everything else is Go's default, or what GOGC
// says. The collector is one for the process, and so is this package's state. It knows nothing of what is allocated.
package heap

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// What the heap may grow by before it is collected again, in percent of what is reachable, as [debug.SetGCPercent] has it.
const (
	standard = 100

	// small has 32 MiB allocated before the first collection, as the standard has 4, where nothing was collected before Start: packages make less than 3 MiB ready.
	// A command that needs no more, and few do, spends a quarter of its processor time on collections otherwise: there is one for each few MiB, and each looks at
	// all that the packages made ready.
	small = 800

	// loaded has half as many collections as the standard: the processors are wanted for the load, and a stream then has some 30 KiB in the place of 28.
	loaded = 200
)

var collector struct {
	sync.Mutex
	small bool // nothing was collected since Start
	loads int
	given int // outside of loads
}

// Start puts the first collection off, once, at the start of a process. After it all is as if Start had not been called. It does nothing where
// GOGC asks for something else than the standard.
func Start() {
	collector.Lock()
	defer collector.Unlock()
	if given := debug.SetGCPercent(small); given != standard {
		debug.SetGCPercent(given)
		return
	}
	collector.given, collector.small = standard, true
	runtime.AddCleanup(new(*int), func(struct{}) { grown() }, struct{}{}) // nobody has the pointer: the first collection finds that out
}

// grown ends what Start began.
func grown() {
	collector.Lock()
	defer collector.Unlock()
	collector.small = false
	if collector.loads > 0 {
		debug.SetGCPercent(loaded)
		return
	}
	debug.SetGCPercent(collector.given)
}

// Load tells that a load is driven until over is called.
func Load() (over func()) {
	collector.Lock()
	defer collector.Unlock()
	collector.loads++
	if !collector.small && collector.loads == 1 {
		collector.given = debug.SetGCPercent(loaded)
	}
	return unload
}

func unload() {
	collector.Lock()
	defer collector.Unlock()
	collector.loads--
	if !collector.small && collector.loads == 0 {
		debug.SetGCPercent(collector.given)
	}
}
