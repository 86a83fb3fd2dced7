package main

import (
	"slices"
	"testing"

	"sweetspot/pipeline"
	"sweetspot/runner/measure"
)

// A service that is down is one line, and a count of the points that it costs, over trials too.
func TestAReasonIsToldOnce(t *testing.T) {
	down, other := "no connection", "no key"
	failed := func(c int64, issued int64, reason *string) pipeline.PointDone {
		p := measure.Point{Status: measure.PointFailed, Reason: reason}
		p.Concurrency, p.Issued = &c, issued
		return pipeline.PointDone{Point: p}
	}
	var told teller
	var lines []string
	for _, event := range []pipeline.Event{
		failed(1, 0, &down), failed(2, 0, &down), pipeline.PointStarted{}, failed(4, 0, &down),
		pipeline.TrialStarted{Trial: &pipeline.Trial{Name: "b"}}, failed(1, 0, &down),
		failed(2, 0, &other), failed(4, 0, &down), failed(8, 20, &down), failed(16, 20, &down), failed(1, 0, &down), failed(2, 0, &down),
	} {
		lines = append(lines, told.lines(event)...)
	}
	lines = append(lines, told.last()...)
	want := []string{
		"  concurrency 1: failed, 0 of 0 ok: no connection", "  2 points more: failed for the same reason",
		"trial b: 0 points", "  1 point more: failed for the same reason", "  concurrency 2: failed, 0 of 0 ok: no key",
		"  concurrency 4: failed, 0 of 0 ok: no connection", "  concurrency 8: failed, 0 of 20 ok: no connection",
		"  concurrency 16: failed, 0 of 20 ok: no connection", "  concurrency 1: failed, 0 of 0 ok: no connection", "  1 point more: failed for the same reason",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("told %q, want %q", lines, want)
	}
}

// The table counts failed requests as infinite in a time that has a limit; the line of a point does not, and says so.
func TestAPointsTimeIsOfItsOkRequests(t *testing.T) {
	c, median, message := int64(4), 0.05, "http_error: HTTP 429"
	for _, tt := range []struct {
		ok, failed int64
		want       string
	}{
		{24, 0, "concurrency 4: completed, 24 of 24 ok, TTFT p50 50ms"},
		{3, 21, "concurrency 4: completed, 3 of 24 ok, TTFT p50 of these 50ms; 21 http_error; such as http_error: HTTP 429"},
	} {
		p := measure.Point{Status: measure.PointCompleted}
		p.Concurrency, p.Issued, p.OK, p.HTTPError, p.TTFT.P50 = &c, tt.ok+tt.failed, tt.ok, tt.failed, &median
		if tt.failed > 0 {
			p.ErrorExample = &message
		}
		if got := pointLine(p); got != tt.want {
			t.Errorf("%d ok, %d failed: %q, want %q", tt.ok, tt.failed, got, tt.want)
		}
	}
}
