package runner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// lasting answers each request after the time that its body names.
func lasting(_ *measure.Record, q workload.Request) script {
	d, err := time.ParseDuration(string(q.Body))
	if err != nil {
		panic(err)
	}
	return script{decode: d}
}

// A turn waits for the forks that join it and for no others; the session slot is held until the last fork in the background has ended.
func TestATurnWaitsForTheForksThatJoinIt(t *testing.T) {
	fork := func(lasts string, joinAt int) workload.Fork {
		return workload.Fork{Session: &workload.Session{Turns: []workload.Turn{request(lasts)}}, JoinAt: joinAt}
	}
	session := func(measure.Phase, int64) (*workload.Session, error) {
		turns := []workload.Turn{{Forks: []workload.Fork{fork("30s", 0)}}, request("1s"), request("1s"), request("1s"), request("1s")}
		turns[1].Forks = []workload.Fork{fork("5s", 2), fork("9s", 4), fork("20s", 0)}
		return &workload.Session{Turns: turns}, nil
	}
	point := Point{Load: closed(1), Requests: 9, DrainTimeout: 60 * second}
	drive(t, point, lasting, func(_ *service, d *Deps) { d.Sessions = session }, func(t *testing.T, o measure.Outcome, _ *service) {
		complete(t, o)
		at := map[string][]float64{} // seconds after the start, by how long the request took
		for _, r := range o.Records[:8] {
			at[*r.FinishReason] = append(at[*r.FinishReason], r.Dispatched.Sub(o.Started).Seconds())
		}
		// The second of the turns waits for the fork of 5 s, the third for none, the last for that of 9 s.
		want := map[string][]float64{"1s": {0, 6, 7, 10}, "5s": {1}, "9s": {1}, "20s": {1}, "30s": {0}}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("dispatched (-want +got):\n%s", diff)
		}
		if lived := o.Sessions[0].End.Sub(o.Sessions[0].Start); lived != 30*time.Second {
			t.Errorf("the session's slot was held for %v, want the 30 s of its longest fork", lived)
		}
	})
}
