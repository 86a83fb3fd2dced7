package clock

import "testing"

func TestProcessorGrowsWithWork(t *testing.T) {
	before := Processor()
	for Processor() == before { // looking is work too
	}
	if after := Processor(); after < before {
		t.Errorf("%v, then %v", before, after)
	}
}
