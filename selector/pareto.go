package selector

import (
	"cmp"
	"math"
	"slices"
)

// Tradeoff is what a point gives: throughput, and pace for one user, both in tokens per second and both better when higher.
type Tradeoff struct{ Throughput, User float64 }

// OnFront reports, of each of points, whether it is on their Pareto front: no other is at least as good in both and better in one. Equal points are
// on it together. Figures must be finite.
func OnFront(points []Tradeoff) []bool {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(points[j].User, points[i].User), cmp.Compare(points[j].Throughput, points[i].Throughput))
	})
	on := make([]bool, len(points))
	// Going down in pace, what is on the front has more throughput than all before it, or is equal to the last that was on it.
	last := Tradeoff{math.Inf(-1), math.Inf(1)}
	for _, i := range order {
		if p := points[i]; p.Throughput > last.Throughput || p == last {
			on[i], last = true, p
		}
	}
	return on
}

// The columns that fronts are drawn over.
const (
	perGPU  = "output_tok_per_s_gpu"
	perUser = "output_tok_per_s_user"
)

// Front is the Pareto front of the points of trials that can be held against each other: those that were asked the same and of which the same is
// known. Ineligible points are in no front.
type Front struct {
	Throughput string       `json:"throughput"` // column: output_tok_per_s_gpu, or output_tok_per_s where the preset declares no GPUs
	User       string       `json:"user"`       // column: output_tok_per_s_user
	Points     []FrontPoint `json:"points"`     // all that take part, by falling pace for one user
}

// FrontPoint is a point that takes part.
type FrontPoint struct {
	Side       int     `json:"side"` // the place of its trial among those given
	PointID    string  `json:"point_id"`
	Throughput float64 `json:"throughput"`
	User       float64 `json:"user"`
	OnFront    bool    `json:"pareto"`

	Point *Judged `json:"-"`
}

// PerGPU reports whether the throughput is that of one GPU.
func (f *Front) PerGPU() bool { return f.Throughput == perGPU }

// Fronts draws the fronts of trials, one for each workload and for each of the two things that may be known, throughput per GPU or throughput
// alone: 800 tok/s of an unknown number of GPUs can't be held against 100 tok/s of one. A front without points is left out.
func Fronts(verdicts []Verdict) []Front {
	type group struct {
		workload string
		perGPU   bool
	}
	var groups []group
	fronts := map[group]*Front{}
	for side := range verdicts {
		v := &verdicts[side]
		for i := range v.Points {
			point, declared := v.Points[i].tradeoff()
			if point == nil {
				continue
			}
			at := group{v.Workload, declared}
			if fronts[at] == nil {
				groups = append(groups, at)
				fronts[at] = &Front{Throughput: wholeThroughput, User: perUser}
				if declared {
					fronts[at].Throughput = perGPU
				}
			}
			point.Side = side
			fronts[at].Points = append(fronts[at].Points, *point)
		}
	}
	drawn := []Front{}
	for _, at := range groups {
		fronts[at].draw()
		drawn = append(drawn, *fronts[at])
	}
	return drawn
}

// tradeoff is what the point gives, nil where it is not eligible or where one of the two figures is not known; and whether its GPUs are declared.
func (j *Judged) tradeoff() (_ *FrontPoint, declared bool) {
	throughput, user := usable(j.Medians.OutputTokPerS), usable(j.Medians.OutputTokPerSUser)
	if declared = j.Medians.GPUs != nil; declared {
		throughput = usable(j.Medians.OutputTokPerSGPU)
	}
	if !j.Eligible || throughput == nil || user == nil {
		return nil, declared
	}
	return &FrontPoint{PointID: j.PointID, Throughput: *throughput, User: *user, Point: j}, declared
}

func (f *Front) draw() {
	tradeoffs := make([]Tradeoff, len(f.Points))
	for i, p := range f.Points {
		tradeoffs[i] = Tradeoff{p.Throughput, p.User}
	}
	for i, on := range OnFront(tradeoffs) {
		f.Points[i].OnFront = on
	}
	slices.SortStableFunc(f.Points, func(a, b FrontPoint) int {
		return cmp.Or(cmp.Compare(b.User, a.User), cmp.Compare(a.Throughput, b.Throughput))
	})
}

// MarkFronts draws the fronts of trials and marks the points that take part.
func MarkFronts(verdicts []Verdict) []Front {
	fronts := Fronts(verdicts)
	for _, front := range fronts {
		for _, p := range front.Points {
			p.Point.Pareto = &p.OnFront
		}
	}
	return fronts
}
