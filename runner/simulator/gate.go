package simulator

import "sync"

// gate counts the requests that are open, and can be shut.
type gate struct {
	mu   sync.Mutex
	open int64
	shut bool
	left sync.Cond // open fell
}

func newGate() *gate {
	g := &gate{}
	g.left.L = &g.mu
	return g
}

// enter lets a request in, and returns how many are open with it. It is false where the gate is shut.
func (g *gate) enter() (open int64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return 0, false
	}
	g.open++
	return g.open, true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	g.left.Broadcast()
}

// close lets no more in and waits until all have left.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for g.open > 0 {
		g.left.Wait()
	}
}
