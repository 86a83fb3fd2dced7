package runner

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
	"sweetspot/schema"
)

// shape is a session tree as the tests draw it.
type shape struct{ turns []turnShape }

type turnShape struct {
	virtual bool
	delay   time.Duration
	forks   []forkShape
}

type forkShape struct {
	inherits bool
	joinAt   int // the turn that waits for it; 0: none
	shape    shape
}

func drawShape(t *rapid.T, depth int) shape {
	var s shape
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		turn := turnShape{
			virtual: rapid.IntRange(0, 3).Draw(t, "virtual") == 0,
			delay:   time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * 7 * time.Millisecond,
		}
		if depth > 0 {
			for range rapid.IntRange(0, 2).Draw(t, "forks") {
				turn.forks = append(turn.forks, forkShape{inherits: rapid.Bool().Draw(t, "inherits"), shape: drawShape(t, depth-1)})
			}
		}
		s.turns = append(s.turns, turn)
	}
	for i, turn := range s.turns[:len(s.turns)-1] {
		for f := range turn.forks {
			if rapid.Bool().Draw(t, "joins") {
				turn.forks[f].joinAt = rapid.IntRange(i+1, len(s.turns)-1).Draw(t, "join at")
			}
		}
	}
	return s
}

// session builds the workload's session of a shape. A request's body is the path to its turn: "3:0.1/2" is session 3, root turn 0, fork 1, turn 2.
// The answers that came before are those to the paths in before.
func (s shape) session(path string, before []string, fault *atomic.Pointer[string]) *workload.Session {
	session := &workload.Session{Turns: make([]workload.Turn, len(s.turns))}
	for i, turn := range s.turns {
		at := fmt.Sprintf("%s%d", path, i)
		made := workload.Turn{Delay: turn.delay}
		expected := slices.Clone(before)
		if !turn.virtual {
			build := func(body string) func([]workload.Answer) (workload.Request, error) {
				return func(answers []workload.Answer) (workload.Request, error) {
					if !answered(answers, expected) {
						fault.Store(new(fmt.Sprintf("%s was built from the answers %v, want %q", body, answers, expected)))
					}
					return workload.Request{Body: []byte(body), PromptTokens: 1, OutputTokens: 1}, nil
				}
			}
			made.Build = build(at)
			made.Replay = &workload.Replay{
				Prefill: build("prefill " + at), Answer: func() workload.Answer { return workload.Answer{Text: "assumed for " + at} },
			}
			before = append(slices.Clone(before), "answer to "+at)
		} else {
			before = append(slices.Clone(before), "")
		}
		for f, fork := range turn.forks {
			var inherited []string
			if fork.inherits {
				inherited = before
			}
			made.Forks = append(made.Forks, workload.Fork{
				Session: fork.shape.session(fmt.Sprintf("%s.%d/", at, f), inherited, fault), Inherits: fork.inherits, JoinAt: fork.joinAt,
			})
		}
		session.Turns[i] = made
	}
	return session
}

// answered reports whether answers are those to the paths in expected, of which the first may be assumed.
func answered(answers []workload.Answer, expected []string) bool {
	live := false
	return slices.EqualFunc(answers, expected, func(a workload.Answer, want string) bool {
		live = live || strings.HasPrefix(a.Text, "answer to ")
		return a.Text == want || !live && a.Text == strings.Replace(want, "answer to ", "assumed for ", 1)
	})
}

// forest is a point over random trees and failures.
type forest struct {
	point    Point
	shapes   []shape
	failures float64 // share of requests that fail
	stop     time.Duration
}

func drawForest(t *rapid.T) forest {
	limit := func(name string) *int64 {
		if rapid.IntRange(0, 3).Draw(t, name+" unset") == 0 {
			return nil
		}
		return new(rapid.Int64Range(1, 4).Draw(t, name))
	}
	f := forest{failures: rapid.SampledFrom([]float64{0, 0.2, 0.9}).Draw(t, "failures")}
	for range rapid.IntRange(1, 3).Draw(t, "shapes") {
		s := drawShape(t, 2)
		s.turns[0].virtual = s.turns[0].virtual && sends(s.session("", nil, new(atomic.Pointer[string])))
		f.shapes = append(f.shapes, s)
	}
	f.point.Load = schema.PointLoad{
		Concurrency: new(rapid.Int64Range(1, 4).Draw(t, "sessions")), RequestConcurrency: limit("requests"),
		WarmupRequestConcurrency: limit("warmup requests"), PrefillConcurrency: limit("prefills"),
	}
	f.point.WarmupRequests = rapid.Int64Range(0, 10).Draw(t, "warmup")
	f.point.DrainTimeout = schema.Duration(rapid.SampledFrom([]time.Duration{0, 20 * time.Millisecond, time.Minute}).Draw(t, "drain timeout"))
	if rapid.Bool().Draw(t, "counted") {
		f.point.Requests = rapid.Int64Range(1, 40).Draw(t, "requests")
	} else {
		f.point.Duration = schema.Duration(rapid.Int64Range(1, 2e9).Draw(t, "duration"))
	}
	if rapid.Bool().Draw(t, "probes") {
		f.point.ProbeTokens = 10
	}
	if rapid.Bool().Draw(t, "open") {
		f.point.Load.RequestRate, f.point.Arrivals.Process = new(rapid.Float64Range(5, 500).Draw(t, "rate")), "poisson"
	}
	if !f.point.open() && rapid.Bool().Draw(t, "agentic") {
		from := rapid.Float64Range(0, 1).Draw(t, "from")
		to := rapid.Float64Range(max(from, 0.01), 1).Draw(t, "to")
		f.point.Agentic = schema.Agentic{Start: schema.Portion{From: from, To: to}, MaxIdleGap: schema.Duration(rapid.Int64Range(1, 3e7).Draw(t, "idle gap"))}
		f.point.Load.AgenticWarmupRequestConcurrency = limit("agentic requests")
	}
	if rapid.Bool().Draw(t, "ramps") {
		f.point.RampUp = schema.Duration(rapid.Int64Range(1, 5e8).Draw(t, "ramp"))
	}
	if rapid.Bool().Draw(t, "cancels") {
		f.point.Cancel = Cancel{Share: 0.3, After: schema.Duration(rapid.Int64Range(0, 3e7).Draw(t, "cancel after"))}
	}
	f.stop = time.Duration(rapid.SampledFrom([]int64{0, 0, 0, 5e7, 5e8}).Draw(t, "stop"))
	return f
}

// plan draws what becomes of a request from its body, so that every run of a forest is alike.
func (f forest) plan(_ *measure.Record, q workload.Request) script {
	h := fnv.New64()
	h.Write(q.Body)
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	does := script{prefill: time.Duration(random.Int64N(2e7)), decode: time.Duration(random.Int64N(4e7))}
	if random.Float64() < f.failures {
		statuses := measure.Statuses()
		does.status = statuses[1+random.IntN(len(statuses)-2)]
		if random.IntN(2) == 0 {
			does.decode = 0 // the first token never comes
		}
	}
	return does
}

// grow runs a forest in virtual time and returns the first thing that is not as it must be.
func (f forest) grow() error {
	c := clock.New()
	var fault atomic.Pointer[string]
	s := newService(c, f.plan)
	s.onSend = func(s *service, _ *measure.Record) {
		if cap := f.widest(); cap != nil && s.requests > *cap {
			fault.Store(new(fmt.Sprintf("%d in flight at a cap of %d", s.requests, *cap)))
		}
		if cap := f.point.Load.PrefillConcurrency; cap != nil && s.prefills > *cap {
			fault.Store(new(fmt.Sprintf("%d prefills in flight at a cap of %d", s.prefills, *cap)))
		}
	}
	stop, over := make(chan struct{}), make(chan struct{})
	if f.stop > 0 {
		go func() {
			select {
			case <-time.After(f.stop):
				close(stop)
			case <-over:
			}
		}()
	}
	var taken atomic.Int64
	live := new(Live)
	o := Run(context.Background(), f.point, Deps{
		Sender: s, Clock: c, Live: live, Stop: stop, Probe: contextProbe,
		Sink: func(*measure.Record) { taken.Add(1) },
		Sessions: func(phase measure.Phase, index int64) (*workload.Session, error) {
			return f.shapes[index%int64(len(f.shapes))].session(fmt.Sprintf("%s%d:", phase, index), nil, &fault), nil
		},
	})
	close(over)
	if text := fault.Load(); text != nil {
		return fmt.Errorf("%s", *text)
	}
	if taken.Load() != int64(len(o.Records)) {
		return fmt.Errorf("%d of %d records were handed on", taken.Load(), len(o.Records))
	}
	if s := live.Snapshot(); s.Sessions.Now != 0 || s.Requests.Now != 0 || s.Prefills.Now != 0 || s.Phase != "" {
		return fmt.Errorf("at the end the live view shows %+v", s)
	}
	return f.check(o, s)
}

// widest is the highest of the request caps: requests that one phase dispatched may reach the service after those of the next.
func (f forest) widest() *int64 {
	phases := []measure.Phase{measure.Measured}
	if f.point.WarmupRequests > 0 || f.point.RampUp > 0 {
		phases = append(phases, measure.Warmup)
	}
	if f.point.Agentic.On() {
		phases = append(phases, measure.AgenticWarmup)
	}
	var most int64
	for _, phase := range phases {
		cap := requestCap(f.point.Load, phase)
		if cap == nil {
			return nil
		}
		most = max(most, *cap)
	}
	return &most
}

func (f forest) check(o measure.Outcome, s *service) error {
	cold := slices.ContainsFunc(of(o, measure.AgenticWarmup), func(r measure.Record) bool { return r.Status != measure.OK && r.Status != measure.Empty })
	switch {
	case o.Aborted != "" && !cold:
		return fmt.Errorf("aborted: %s", o.Aborted)
	case cold && o.Aborted == "" && !o.Interrupted:
		return fmt.Errorf("a failed cache warmup stopped nothing")
	case cold && len(of(o, measure.Measured)) > 0:
		return fmt.Errorf("a failed cache warmup, and yet something was measured")
	case o.Interrupted && f.stop == 0:
		return fmt.Errorf("interrupted by nobody")
	case s.requests != 0 || s.prefills != 0:
		return fmt.Errorf("%d requests and %d prefills in flight at the end", s.requests, s.prefills)
	}
	if n := int64(len(of(o, measure.Measured))); f.point.Requests > 0 && !o.Interrupted && !cold && n != f.point.Requests {
		return fmt.Errorf("%d measured requests, want %d", n, f.point.Requests)
	}
	if n := int64(len(of(o, measure.Warmup))); f.point.RampUp == 0 && !o.Interrupted && n != f.point.WarmupRequests {
		return fmt.Errorf("%d warmup requests, want %d", n, f.point.WarmupRequests)
	}
	if err := capsHeld(o, f.point.Load); err != nil {
		return err
	}
	if err := f.checkSessions(o); err != nil {
		return err
	}
	if err := f.checkBurst(o, cold); err != nil {
		return err
	}
	return f.checkOrder(o)
}

// checkBurst holds that each lane's session has one request in the burst, if it has one before another, and that all of them ended before the
// measured phase.
func (f forest) checkBurst(o measure.Outcome, cold bool) error {
	burst, measured := of(o, measure.AgenticWarmup), of(o, measure.Measured)
	var want int
	for index := int64(0); f.point.Agentic.On() && index < *f.point.Load.Concurrency; index++ {
		if f.shapes[index%int64(len(f.shapes))].sending() > 1 {
			want++
		}
	}
	if len(burst) > want || len(burst) < want && len(measured) > 0 {
		return fmt.Errorf("%d requests in the burst, want %d", len(burst), want)
	}
	for _, r := range burst {
		if !strings.HasPrefix(*r.FinishReason, "prefill ") || r.Turn != 0 {
			return fmt.Errorf("%s was sent in the burst", *r.FinishReason)
		}
		if len(measured) > 0 && r.Ended > measured[0].Dispatched {
			return fmt.Errorf("%s ended after the burst", *r.FinishReason)
		}
	}
	return nil
}

// sending is how many turns of a session send something, its forks' left aside.
func (s shape) sending() int {
	n := 0
	for _, turn := range s.turns {
		if !turn.virtual {
			n++
		}
	}
	return n
}

// checkSessions holds that no more sessions were live than the cap allows, and that each held its slot from its first request to its last.
func (f forest) checkSessions(o measure.Outcome) error {
	for i, span := range o.Sessions {
		if !span.End.Happened() || span.End < span.Start {
			return fmt.Errorf("session %d lasted from %d to %d", i, span.Start, span.End)
		}
		var live int64
		for _, other := range o.Sessions {
			if other.Start <= span.Start && other.End > span.Start {
				live++
			}
		}
		if live > *f.point.Load.Concurrency {
			return fmt.Errorf("%d sessions were live at a cap of %d", live, *f.point.Load.Concurrency)
		}
	}
	turns := map[[2]int64]bool{}
	for _, r := range o.Records {
		if span := o.Sessions[r.Session]; r.Dispatched < span.Start || r.Ended > span.End {
			return fmt.Errorf("request %d lies outside its session", r.Index)
		}
		if turns[[2]int64{r.Session, r.Turn}] {
			return fmt.Errorf("session %d has two requests %d", r.Session, r.Turn)
		}
		turns[[2]int64{r.Session, r.Turn}] = true
		if r.Turn > 0 && !turns[[2]int64{r.Session, r.Turn - 1}] {
			return fmt.Errorf("session %d sent request %d before %d", r.Session, r.Turn, r.Turn-1)
		}
	}
	return nil
}

// checkOrder holds that each turn came after what it had to wait for, and nothing after a turn that was not ok.
func (f forest) checkOrder(o measure.Outcome) error {
	byPath := map[string]*measure.Record{}
	for i := range o.Records {
		byPath[*o.Records[i].FinishReason] = &o.Records[i]
	}
	last := o.Records[:0:0]
	if n := len(o.Records); n > 0 {
		last = o.Records[n-1:]
	}
	for path := range byPath {
		root, rest, found := strings.Cut(path, ":")
		if !found || strings.ContainsAny(rest, "./") || strings.HasPrefix(root, "prefill ") {
			continue // the probe, or not a root's turn
		}
		var index int64
		if _, err := fmt.Sscan(strings.TrimLeft(root, "abcdefghijklmnopqrstuvwxyz"), &index); err != nil {
			return err
		}
		lived := o.Sessions[byPath[path].Session]
		w := walker{byPath, len(last) > 0 && lived.End < last[0].Dispatched, f.point}
		s := f.shapes[index%int64(len(f.shapes))]
		first, ready := 0, lived.Start
		switch warmup := strings.HasPrefix(root, string(measure.Warmup)); {
		case !f.point.Agentic.On():
		case warmup:
			w.complete = false // it may have ended with the phase
		case index < *f.point.Load.Concurrency && s.sending() > 1:
			for ; first <= len(s.turns) && ready == lived.Start; first++ {
				if r := byPath[fmt.Sprintf("prefill %s:%d", root, first)]; r != nil {
					ready = r.Ended
				}
			}
			if r := byPath[path]; ready > r.Dispatched || first > len(s.turns) {
				return fmt.Errorf("turn %s was sent before the session's cache was warm", path)
			}
			for i := range first {
				if r := byPath[fmt.Sprintf("%s:%d", root, i)]; r != nil {
					return fmt.Errorf("%s was sent, and the session was to start at turn %d", *r.FinishReason, first)
				}
			}
		}
		if _, err := w.walkFrom(s, root+":", ready, first); err != nil {
			return err
		}
	}
	return nil
}

// walker follows a shape through what was recorded.
type walker struct {
	records  map[string]*measure.Record
	complete bool // the tree ended before the point did, so nothing of it was left out
	point    Point
}

// walk returns when a session and its forks had ended.
func (w walker) walk(s shape, path string, ready clock.Instant) (ended clock.Instant, err error) {
	return w.walkFrom(s, path, ready, 0)
}

// walkFrom begins with a turn: those before were not sent.
func (w walker) walkFrom(s shape, path string, ready clock.Instant, first int) (ended clock.Instant, err error) {
	ended = ready
	var forks clock.Instant
	joins := map[int]clock.Instant{} // the last end of the forks that join a turn
	defer func() { ended = max(ended, forks) }()
	for i := first; i < len(s.turns); i++ {
		turn := s.turns[i]
		ready = max(ready, joins[i])
		if i != first || first == 0 { // of the pause where a session starts inside, a part is over
			ready = ready.Add(w.point.capGap(turn.delay))
		}
		at := fmt.Sprintf("%s%d", path, i)
		if !turn.virtual {
			r := w.records[at]
			switch {
			case r == nil && w.complete:
				return ended, fmt.Errorf("turn %s was never sent", at)
			case r == nil:
				return ended, w.nothingAfter(s, path, i)
			case r.Dispatched < ready || r.Scheduled < ready && i > 0:
				return ended, fmt.Errorf("turn %s was scheduled at %d and dispatched at %d, ready at %d", at, r.Scheduled, r.Dispatched, ready)
			}
			ready, ended = r.Ended, max(ended, r.Ended)
			if r.Status != measure.OK {
				return ended, w.nothingAfter(s, path, i+1)
			}
		}
		for f, fork := range turn.forks {
			end, err := w.walk(fork.shape, fmt.Sprintf("%s.%d/", at, f), ready)
			if err != nil {
				return ended, err
			}
			forks, joins[fork.joinAt] = max(forks, end), max(joins[fork.joinAt], end)
		}
	}
	return ended, nil
}

// nothingAfter holds that no turn of a session from i on was sent.
func (w walker) nothingAfter(s shape, path string, i int) error {
	for ; i < len(s.turns); i++ {
		if at := fmt.Sprintf("%s%d", path, i); w.records[at] != nil {
			return fmt.Errorf("turn %s was sent although one before it was not, or was not ok", at)
		}
	}
	return nil
}

func forestProperty(t *testing.T, rt *rapid.T) {
	f := drawForest(rt)
	var err error
	synctest.Test(t, func(*testing.T) { err = f.grow() })
	if err != nil {
		rt.Fatal(err)
	}
}

func TestRandomTreesKeepCapsAndEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { forestProperty(t, rt) })
}

func FuzzTrees(f *testing.F) {
	for seed := range byte(8) {
		drawn := make([]byte, 16384)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(drawn)
		f.Add(drawn)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { forestProperty(t, rt) })(t, data)
	})
}
