package simulator

import (
	"fmt"
	"slices"
	"time"

	"sweetspot/schema"
)

// The kinds of fault.
const (
	faultHTTPError   = "http_error"   // answers with status instead
	faultSlowHeaders = "slow_headers" // waits for delay before it does anything
	faultStall       = "stall"        // waits for delay after after_tokens
	faultStreamError = "stream_error" // sends an error event after after_tokens, and ends
	faultCut         = "cut"          // closes the connection after after_tokens
	faultEmpty       = "empty"        // ends well without a token
	faultZeroUsage   = "zero_usage"   // says that usage is 0
	faultGarbage     = "garbage"      // sends an event that is no JSON after after_tokens, and goes on
	faultRefuse      = "refuse"       // closes the connection without an answer
	faultSplit       = "split"        // writes in pieces that end and begin at any byte
)

var faultKinds = []string{faultHTTPError, faultSlowHeaders, faultStall, faultStreamError, faultCut, faultEmpty, faultZeroUsage, faultGarbage,
	faultRefuse, faultSplit}

func checkFault(f schema.Fault) error {
	switch {
	case !slices.Contains(faultKinds, f.Kind):
		return fmt.Errorf("kind must be one of %v, not %q", faultKinds, f.Kind)
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("status must be 400 to 599, not %d", f.Status)
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("probability must be 0 to 1, not %v", f.Probability)
	case f.Delay < 0 || f.AfterTokens < 0 || f.InFlight < 0:
		return fmt.Errorf("delay, after_tokens and in_flight must not be negative")
	}
	return nil
}

// trouble is what goes wrong with one request. The zero value is nothing.
type trouble struct {
	kinds                                          []string // in the order of the configuration; nil where nothing goes wrong
	refuse, empty, zeroUsage, split                bool
	status                                         int // 0: none
	slowHeaders                                    time.Duration
	stall, streamError, cut, garbage               bool
	stallFor                                       time.Duration
	stallAfter, errorAfter, cutAfter, garbageAfter int // tokens sent before it
}

// troubleFor chooses the faults of the ordinal-th request, which makes inFlight requests in flight. Whether a fault with a probability hits
// depends on the seed, the fault and the ordinal alone. Of two faults of one kind the later stands.
func troubleFor(faults []schema.Fault, seed int64, ordinal, inFlight int64) trouble {
	var t trouble
	for i, f := range faults {
		if ordinal < f.FromRequest || f.ToRequest > 0 && ordinal > f.ToRequest || inFlight < f.InFlight {
			continue
		}
		if unit(seed, uint64(i)+1, uint64(ordinal)) >= f.Probability {
			continue
		}
		t.add(f)
	}
	return t
}

// longDelay is how long slow_headers and stall last where nothing else is said.
const longDelay = 30 * time.Second

func (t *trouble) add(f schema.Fault) {
	t.kinds = append(t.kinds, f.Kind)
	after := int(min(f.AfterTokens, largest))
	delay := time.Duration(f.Delay)
	if delay == 0 {
		delay = longDelay
	}
	switch f.Kind {
	case faultHTTPError:
		t.status = 500
		if f.Status != 0 {
			t.status = int(f.Status)
		}
	case faultSlowHeaders:
		t.slowHeaders = delay
	case faultStall:
		t.stall, t.stallFor, t.stallAfter = true, delay, after
	case faultStreamError:
		t.streamError, t.errorAfter = true, after
	case faultCut:
		t.cut, t.cutAfter = true, after
	case faultEmpty:
		t.empty = true
	case faultZeroUsage:
		t.zeroUsage = true
	case faultGarbage:
		t.garbage, t.garbageAfter = true, after
	case faultRefuse:
		t.refuse = true
	case faultSplit:
		t.split = true
	}
}
