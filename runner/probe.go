package runner

import (
	"fmt"

	"sweetspot/runner/measure"
)

const notProbed = "the point ended before the context probe was sent"

// prepareProbe makes the request of the context probe, before the load. Where it can't be made, there is no probe, and the reason stands in the
// outcome.
func (e *engine) prepareProbe() {
	if e.point.ProbeTokens == 0 {
		return
	}
	request, err := e.deps.Probe()
	if err != nil {
		e.contextReason = fmt.Sprintf("making the context probe: %v", err)
		return
	}
	e.probe = &request
}

// startProbe sends the context probe, when the last measured request has ended: its long prompt must not disturb what is measured. The hold phase
// keeps the load up meanwhile.
func (c *conductor) startProbe() {
	if c.probe == nil || c.mayStart() != nil {
		return
	}
	c.probing = true
	go func() {
		defer close(c.onProbed)
		c.guard("the context probe", c.sendProbe)
	}()
}

// sendProbe takes slots as every session does, so that no cap is exceeded for it, and fills in what the probe showed.
func (c *conductor) sendProbe() {
	f := &flight{engine: c.engine, probe: true, request: *c.probe, scheduled: c.clock.Now(), tree: &tree{lane: c.point.Load.Lanes()}}
	if c.open(f.tree) {
		func() {
			defer c.close(f.tree)
			c.ask(f)
		}()
	}
	length, reason := filled(f.record, c.point.ProbeTokens)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contextLength, c.contextReason = length, reason
}

// filled is the context length that a probe filled, by the service's own count, and what is to be said about it.
func filled(r *measure.Record, wanted int64) (*int64, string) {
	switch {
	case r == nil:
		return nil, notProbed
	case r.Status != measure.OK:
		return nil, fmt.Sprintf("the context probe ended with %s", describe(r))
	case r.PromptTokens == nil || r.OutputTokens == nil:
		return nil, "the service did not count the context probe's tokens"
	}
	length := *r.PromptTokens + *r.OutputTokens
	if length < wanted {
		return &length, fmt.Sprintf("the context probe filled %d of %d tokens", length, wanted)
	}
	return &length, ""
}
