package slots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The model check drives the real gates through every order in which the critical sections of a few actors can follow each other. A critical
// section runs under the gate's lock, so an order of them is all that goroutines could do differently. It is exhaustive for the caps and actors
// given: every state that can be reached is visited once, by replaying the path that leads to it.

// stage is where an actor stands.
type stage int

const (
	idle      stage = iota // holds nothing, wants its first slot
	queued                 // in the queue of its next gate
	ready                  // holds every slot it wants, not dispatched
	running                // dispatched, no token yet
	streaming              // its prefill slot is freed
	done
)

type actor struct {
	stage  stage
	gates  []*Gate // in the order of taking; the last is the prefill gate
	held   int     // how many of them it holds
	slots  [3]Slot
	place  *waiter
	cancel bool // may be cancelled at any time before its dispatch
}

type world struct {
	admission *Admission
	actors    []*actor
	limits    []int64 // still to be set at the request gate, one after the other
}

// setup makes a world in its first state, the same one every time.
type setup struct {
	sessions, requests, prefills int64
	limits                       []int64 // of the request gate, set in turn at any time
	roots, forks                 int     // actors that take all three slots, and those that take no session slot
	cancels                      int     // so many of the actors may be cancelled
}

func (s setup) world() *world {
	w := &world{admission: open(s.sessions, s.requests, s.prefills), limits: s.limits}
	a := w.admission
	for i := range s.roots + s.forks {
		gates := []*Gate{&a.Requests, &a.Prefills}
		if i < s.roots {
			gates = []*Gate{&a.Sessions, &a.Requests, &a.Prefills}
		}
		w.actors = append(w.actors, &actor{gates: gates, cancel: i < s.cancels})
	}
	return w
}

// step is one thing that can happen: to an actor (by number), or to the limit (actor -1).
type step struct {
	actor int
	kind  string
}

// enabled lists what can happen next.
func (w *world) enabled() []step {
	var steps []step
	if len(w.limits) > 0 {
		steps = append(steps, step{-1, "limit"})
	}
	for i, a := range w.actors {
		switch a.stage {
		case idle:
			steps = append(steps, step{i, "enter"})
		case queued:
			if granted(a.place) {
				steps = append(steps, step{i, "granted"})
			}
			if a.cancel {
				steps = append(steps, step{i, "cancel"})
			}
		case ready:
			steps = append(steps, step{i, "dispatch"})
		case running:
			steps = append(steps, step{i, "first token"}, step{i, "end"})
		case streaming:
			steps = append(steps, step{i, "end"})
		}
	}
	return steps
}

func granted(w *waiter) bool {
	select {
	case <-w.granted:
		return true
	default:
		return false
	}
}

// apply makes one step, as Gate.acquire, Admission.take and the engine do.
func (w *world) apply(s step) error {
	if s.kind == "limit" {
		w.admission.Requests.SetLimit(w.limits[0])
		w.limits = w.limits[1:]
		return nil
	}
	a := w.actors[s.actor]
	switch s.kind {
	case "enter":
		a.enter()
	case "granted":
		a.got()
	case "cancel":
		a.gates[a.held].leave(a.place)
		a.rollback(done)
	case "dispatch":
		if w.admission.Requests.Over() {
			a.rollback(idle) // the limit was lowered after the grant
			return nil
		}
		a.stage = running
		if inFlight, limit := w.count(running, streaming), w.admission.Requests.State().Limit; inFlight > limit {
			return fmt.Errorf("dispatched as number %d at a limit of %d", inFlight, limit)
		}
	case "first token":
		a.slots[len(a.gates)-1].Release()
		a.stage = streaming
	case "end":
		a.rollback(done)
	}
	return nil
}

func (a *actor) enter() {
	a.place, _ = a.gates[a.held].enter(true)
	a.stage = queued
	if a.place == nil {
		a.got()
	}
}

// got is what follows a grant: the slot is the actor's, and it queues for the next.
func (a *actor) got() {
	a.slots[a.held].gate.Store(a.gates[a.held])
	a.held++
	if a.held == len(a.gates) {
		a.stage = ready
		return
	}
	a.enter()
}

func (a *actor) rollback(to stage) {
	for i := len(a.gates) - 1; i >= 0; i-- {
		a.slots[i].Release()
	}
	a.held, a.stage, a.place = 0, to, nil
}

func (w *world) count(stages ...stage) int64 {
	var n int64
	for _, a := range w.actors {
		if slices.Contains(stages, a.stage) {
			n++
		}
	}
	return n
}

// queue names the waiters of a gate in order.
func (w *world) queue(g *Gate) []int {
	var order []int
	for p := g.first; p != nil; p = p.next {
		order = append(order, slices.IndexFunc(w.actors, func(a *actor) bool { return a.place == p }))
	}
	return order
}

func (w *world) gates() []*Gate {
	return []*Gate{&w.admission.Sessions, &w.admission.Requests, &w.admission.Prefills}
}

// key names the state: two paths that lead to one key need not both be followed on.
func (w *world) key() string {
	var b strings.Builder
	for _, a := range w.actors {
		fmt.Fprintf(&b, "%d.%d.%v ", a.stage, a.held, a.place != nil && granted(a.place))
	}
	for _, g := range w.gates() {
		fmt.Fprint(&b, w.queue(g), g.limit, g.held)
	}
	fmt.Fprint(&b, len(w.limits))
	return b.String()
}

// check holds the invariants of a state.
func (w *world) check() error {
	for i, g := range w.gates() {
		s := g.State()
		var owned int64 // slots that actors hold or were granted
		for _, a := range w.actors {
			for at, of := range a.gates {
				if of == g && (a.slots[at].held() || a.stage == queued && at == a.held && granted(a.place)) {
					owned++
				}
			}
		}
		switch {
		case s.Held != owned:
			return fmt.Errorf("gate %d counts %d held, %d are", i, s.Held, owned)
		case s.Taken-s.Freed != s.Held || s.Held < 0:
			return fmt.Errorf("gate %d: %d taken less %d freed are not %d held", i, s.Taken, s.Freed, s.Held)
		case s.Waiting > 0 && s.Held < s.Limit:
			return fmt.Errorf("gate %d: %d wait although %d of %d are held: a wake-up is lost", i, s.Waiting, s.Held, s.Limit)
		case s.Waiting != int64(len(w.queue(g))):
			return fmt.Errorf("gate %d counts %d waiting, %d are", i, s.Waiting, len(w.queue(g)))
		}
	}
	return nil
}

// checkStep holds what must be true of a step: nothing is granted above a limit, and only the head of a queue is.
func (w *world) checkStep(before []State, queues [][]int) error {
	for i, g := range w.gates() {
		now, queue := g.State(), w.queue(g)
		if now.Taken > before[i].Taken && now.Held > now.Limit {
			return fmt.Errorf("gate %d granted a slot: %d held at a limit of %d", i, now.Held, now.Limit)
		}
		var stayed []int // those of the old queue who wait still
		for _, who := range queues[i] {
			if slices.Contains(queue, who) {
				stayed = append(stayed, who)
			} else if a := w.actors[who]; len(stayed) > 0 && a.place != nil && granted(a.place) {
				return fmt.Errorf("gate %d granted a slot to %d, who came after %v", i, who, stayed)
			}
		}
		if !slices.Equal(stayed, queue[:len(stayed)]) {
			return fmt.Errorf("gate %d: queue %v became %v", i, queues[i], queue)
		}
	}
	return nil
}

// explore visits every state that can be reached and returns how many there are.
func explore(s setup) (states int, err error) {
	seen := map[string]bool{}
	var visit func(path []step) error
	visit = func(path []step) error {
		w, err := s.replay(path)
		if err != nil {
			return fmt.Errorf("after %v: %w", path, err)
		}
		key := w.key()
		if seen[key] {
			return nil
		}
		seen[key] = true
		next := w.enabled()
		if len(next) == 0 {
			return w.ended(path)
		}
		for _, n := range next {
			if err := visit(append(slices.Clone(path), n)); err != nil {
				return err
			}
		}
		return nil
	}
	err = visit(nil)
	return len(seen), err
}

// replay makes the world to which a path leads and checks its last step.
func (s setup) replay(path []step) (*world, error) {
	w := s.world()
	for i, next := range path {
		var before []State
		var queues [][]int
		if i == len(path)-1 {
			for _, g := range w.gates() {
				before, queues = append(before, g.State()), append(queues, w.queue(g))
			}
		}
		if err := w.apply(next); err != nil {
			return nil, err
		}
		if before != nil {
			if err := w.checkStep(before, queues); err != nil {
				return nil, err
			}
		}
	}
	return w, w.check()
}

// ended holds what must be true where nothing more can happen: everyone is done and nothing is held.
func (w *world) ended(path []step) error {
	if n := w.count(done); n != int64(len(w.actors)) {
		return fmt.Errorf("after %v: nothing can happen, yet only %d of %d are done", path, n, len(w.actors))
	}
	for i, g := range w.gates() {
		if s := g.State(); s.Held != 0 || s.Waiting != 0 || s.Taken != s.Freed {
			return fmt.Errorf("after %v: gate %d ends as %+v", path, i, s)
		}
	}
	return nil
}

func TestEveryOrderOfEventsKeepsTheInvariants(t *testing.T) {
	for name, s := range map[string]setup{
		"all caps 1":                    {sessions: 1, requests: 1, prefills: 1, roots: 3, cancels: 3},
		"caps 1, trees with forks":      {sessions: 1, requests: 1, prefills: 1, roots: 2, forks: 2, cancels: 1},
		"caps 2, prefill 1":             {sessions: 2, requests: 2, prefills: 1, roots: 3, forks: 1, cancels: 2},
		"hand-over from 2 to 1":         {sessions: Unbounded, requests: 2, prefills: 2, limits: []int64{1}, forks: 4, cancels: 2},
		"hand-over from 1 to 2":         {sessions: Unbounded, requests: 1, prefills: 1, limits: []int64{2}, forks: 4, cancels: 2},
		"limit down to 0 and up again":  {sessions: 2, requests: 2, prefills: 2, limits: []int64{0, 1}, roots: 3, cancels: 1},
		"limit up and down, no prefill": {sessions: Unbounded, requests: 1, prefills: Unbounded, limits: []int64{2, 1}, forks: 4, cancels: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, err := explore(s)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d states", name, states)
			if states < 100 {
				t.Errorf("only %d states were reached: the model explores nothing", states)
			}
		})
	}
}
