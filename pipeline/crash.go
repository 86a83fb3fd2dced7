package pipeline

import (
	"context"
	"time"

	"sweetspot/runner/measure"
)

// crashNoticed is how long the end of a service may take to be known after its requests have failed.
const crashNoticed = time.Second

// untilOver is a context that ends with the service: a point whose service has ended is not driven on.
func untilOver(ctx context.Context, service Service) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-service.Over():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-watched
	}
}

// withCrash is an outcome that says that the service ended by itself in the middle of the point. A service that ended after the last request was
// answered well fails nothing.
func (e *execution) withCrash(ctx context.Context, service Service, o measure.Outcome) measure.Outcome {
	if service.Over() == nil || o.Interrupted && e.stopped(ctx) || !cutOff(o) {
		return o
	}
	timer := time.NewTimer(crashNoticed)
	defer timer.Stop()
	select {
	case <-service.Over():
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := service.Err(); err != nil {
		o.Aborted, o.Interrupted = "the service ended in the middle of the point: "+err.Error(), false
	}
	return o
}

// cutOff reports whether an outcome looks as if nobody was there to answer.
func cutOff(o measure.Outcome) bool {
	if o.Interrupted || o.Aborted != "" {
		return true
	}
	for i := range o.Records {
		switch o.Records[i].Status {
		case measure.ConnectError, measure.StreamError, measure.Truncated:
			return true
		}
	}
	return false
}
