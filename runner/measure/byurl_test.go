package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestsAreCountedByURL(t *testing.T) {
	at := func(url int64, phase Phase, status Status) Record {
		return Record{URLIndex: &url, Phase: phase, Status: status}
	}
	records := []Record{
		at(0, Warmup, OK), at(1, Warmup, HTTPError), at(0, Measured, OK), at(1, Measured, HTTPError), at(1, Measured, Cancelled), at(0, Measured, OK), {Phase: Measured},
	}
	if diff := cmp.Diff(ByURL{URLIssued: []int64{2, 2, 0}, URLFailed: []int64{0, 1, 0}}, byURL(records, 3)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(ByURL{}, byURL(records, 1)); diff != "" {
		t.Errorf("one URL (-want +got)\n%s", diff)
	}
}
