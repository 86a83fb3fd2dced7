package selector

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

var nearly = cmpopts.EquateApprox(1e-12, 0)

// scalings are a point's throughput scaling, growth of time to first token, and growth if all requests waited in one line.
func scalings(p Judged) []*float64 {
	return []*float64{p.ThroughputScaling, p.TTFTGrowth, p.LinearQueueing}
}

func TestScaling(t *testing.T) {
	v := Judge(ladder([]float64{100, 190, 350}, []float64{0.1, 0.12, 0.3}), rule(0))
	for i, want := range [][]*float64{{ref(1.0), ref(1.0), ref(1.0)}, {ref(1.9), ref(1.2), ref(2.0)}, {ref(3.5), ref(3.0), ref(4.0)}} {
		if diff := cmp.Diff(want, scalings(v.Points[i]), nearly); diff != "" {
			t.Errorf("%s: %s", v.Points[i].PointID, diff)
		}
	}
	if *v.ScalingBase != "c1" {
		t.Errorf("base %s", *v.ScalingBase)
	}
}

// Where the lowest level has no figures, the next one that has is the base, and says so.
func TestScalingWithoutTheLowestLevel(t *testing.T) {
	s := ladder([]float64{100, 200, 300, 400}, []float64{0.1, 0.2, 0.3, 0.4})
	s.Points[0].Repeats[0].Status = measure.PointFailed
	s.Points[2].Repeats[0].OutputTokPerS = nil
	v := Judge(s, rule(0))
	if *v.ScalingBase != "c2" {
		t.Errorf("base %s", *v.ScalingBase)
	}
	for i, want := range [][]*float64{{nil, nil, nil}, {ref(1.0), ref(1.0), ref(1.0)}, {nil, nil, nil}, {ref(2.0), ref(2.0), ref(4.0)}} {
		if diff := cmp.Diff(want, scalings(v.Points[i]), nearly); diff != "" {
			t.Errorf("%s: %s", v.Points[i].PointID, diff)
		}
	}
}

func TestPlateau(t *testing.T) {
	for _, test := range []struct {
		name        string
		levels      []int64
		throughputs []float64
		want        string
	}{
		{"still growing", []int64{1, 2, 4}, []float64{100, 190, 360}, "none"},
		{"levels off", []int64{1, 2, 4, 8}, []float64{100, 190, 200, 205}, "c2"},
		{"falls", []int64{1, 2, 4}, []float64{100, 190, 150}, "c2"},
		{"exactly 10 %", []int64{1, 2, 4}, []float64{100, 110, 121}, "none"},
		{"flat from the start", []int64{1, 2}, []float64{100, 101}, "c1"},
		{"a dip before growth is none", []int64{1, 2, 4}, []float64{100, 104, 200}, "none"},
		// 21 % over two doublings is 10 % for each; 20 % is not.
		{"steps of four, growing", []int64{1, 4}, []float64{100, 121.0001}, "none"},
		{"steps of four, levelling off", []int64{1, 4}, []float64{100, 120}, "c1"},
		// Half a doubling need add only 4.9 %.
		{"a short last step", []int64{8, 11}, []float64{100, 105}, "none"},
		{"one level", []int64{4}, []float64{100}, "none"},
		// Noise between levels that are near one another is much for a doubling; 10 has less than 8 all the same.
		{"as a search leaves them", []int64{3, 6, 7, 8, 9, 10, 11}, []float64{359, 637, 718, 793, 775, 787, 766}, "c8"},
		{"the end of a search", []int64{4, 8, 15, 16}, []float64{400, 700, 1000, 1001}, "none"},
		{"near one another and growing", []int64{8, 9, 10, 12}, []float64{100, 101, 103, 110}, "none"},
		{"growing by the doubling at last", []int64{1, 2, 4}, []float64{100, 105, 120}, "none"},
	} {
		var s Series
		for i, level := range test.levels {
			s.Points = append(s.Points, point(row(level, test.throughputs[i], 0.1)))
		}
		v := Judge(s, rule(0))
		got := "none"
		if v.PlateauFrom != nil {
			got = *v.PlateauFrom
		}
		if got != test.want {
			t.Errorf("%s: from %s, want %s", test.name, got, test.want)
		}
	}
}

// A point that can't be trusted, as where the client was too slow, says nothing of the service's throughput.
func TestPlateauIsOfEligiblePoints(t *testing.T) {
	s := ladder([]float64{100, 190, 192, 200}, []float64{0.1, 0.1, 0.1, 0.1})
	s.Points[2].Repeats[0].LagP99, s.Points[3].Repeats[0].ErrorRate = ref(1.0), ref(0.5)
	if v := Judge(s, rule(0)); v.PlateauFrom != nil {
		t.Errorf("levels off from %s", *v.PlateauFrom)
	}
	s.Points[3].Repeats[0].ErrorRate = ref(0.0)
	if v := Judge(s, rule(0)); v.PlateauFrom == nil || *v.PlateauFrom != "c2" {
		t.Errorf("levels off from %v, want c2", v.PlateauFrom)
	}
}

// Of the points at one level the best counts: a level is not level with the one before because one of its prefill caps is too low.
func TestPlateauTakesTheBestOfALevel(t *testing.T) {
	for _, order := range [][]float64{{100, 90, 105, 200}, {90, 100, 200, 105}} {
		s := grid(func(l *schema.PointLoad, i int) {
			l.Concurrency, l.PrefillConcurrency = ref(int64(4+4*(i/2))), ref(int64(2+i%2))
		})
		for i, throughput := range order {
			s.Points[i].Repeats[0].OutputTokPerS = &throughput
		}
		if v := Judge(s, rule(0)); v.PlateauFrom != nil {
			t.Errorf("%v levels off from %s", order, *v.PlateauFrom)
		}
	}
}

// grid gives points of every combination, named by their caps.
func grid(change func(l *schema.PointLoad, i int)) Series {
	var s Series
	for i := range 4 {
		c := point(row(8, float64(100*(i+1)), 0.1))
		change(&c.Load, i)
		c.PointID = LoadText(c.Load)
		c.Repeats[0].PointLoad = c.Load
		s.Points = append(s.Points, c)
	}
	return s
}

// What counts as the level follows from what is swept.
func TestLevels(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(l *schema.PointLoad, i int)
		want   []float64
		last   string
	}{
		{"concurrency", func(l *schema.PointLoad, i int) { l.Concurrency = ref(int64(1 << i)) }, []float64{1, 2, 4, 8}, "concurrency 8"},
		{"request cap under one concurrency", func(l *schema.PointLoad, i int) { l.RequestConcurrency = ref(int64(1 + i)) }, []float64{1, 2, 3, 4}, "concurrency 8, request cap 4"},
		{"prefill cap", func(l *schema.PointLoad, i int) { l.PrefillConcurrency = ref(int64(1 << i)) }, []float64{1, 2, 4, 8}, "concurrency 8, prefill cap 8"},
		{"rate", func(l *schema.PointLoad, i int) { l.Concurrency, l.RequestRate = nil, ref(float64(i+1)) }, []float64{1, 2, 3, 4}, "rate 4/s"},
		{"rate under a cap", func(l *schema.PointLoad, i int) { l.RequestRate = ref(float64(i + 1)) }, []float64{1, 2, 3, 4}, "concurrency 8, rate 4/s"},
		{"rate and prefill cap", func(l *schema.PointLoad, i int) {
			l.PrefillConcurrency, l.RequestRate = ref(int64(4-i)), ref(float64(i+1))
		},
			[]float64{4, 3, 2, 1}, "concurrency 8, prefill cap 1, rate 4/s"},
		{"grid: two levels", func(l *schema.PointLoad, i int) {
			l.Concurrency, l.PrefillConcurrency = ref(int64(4+4*(i/2))), ref(int64(2+i%2))
		},
			[]float64{1, 1, 2, 2}, "concurrency 8, prefill cap 3"},
	} {
		v := Judge(grid(test.change), rule(0))
		var got []float64
		for _, p := range v.Points {
			got = append(got, *p.LinearQueueing)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if selected(v) != test.last || !v.LastOfLadder {
			t.Errorf("%s: selected %s, last %v", test.name, selected(v), v.LastOfLadder)
		}
	}
}

// At the highest level, but not the last row of the grid: still the end of the ladder.
func TestLastOfLadder(t *testing.T) {
	s := grid(func(l *schema.PointLoad, i int) {
		l.Concurrency, l.PrefillConcurrency = ref(int64(4+4*(i/2))), ref(int64(2+i%2))
	})
	s.Points[3].Repeats[0].OutputTokPerS = ref(1.0)
	if v := Judge(s, rule(0)); selected(v) != "concurrency 8, prefill cap 2" || !v.LastOfLadder {
		t.Errorf("selected %s, last %v", selected(v), v.LastOfLadder)
	}
	if v := Judge(ladder([]float64{100, 300, 200}, []float64{0.1, 0.1, 0.1}), rule(0)); v.LastOfLadder {
		t.Error("a point in the middle is the last of the ladder")
	}
}
