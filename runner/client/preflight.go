package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// Check names one of the things that Preflight looks at.
type Check string

// The checks, in the order in which they are made.
const (
	CheckDescriptors Check = "descriptors"   // the process may open as many connections as there are streams
	CheckPorts       Check = "ports"         // the machine has as many local ports
	CheckReach       Check = "reach"         // something answers at the URL
	CheckAuth        Check = "auth"          // the service takes the key
	CheckPath        Check = "path"          // the API is where the URL says
	CheckModel       Check = "model"         // the service serves the model
	CheckRequest     Check = "request"       // it takes a request of the trial's shape and answers it
	CheckStream      Check = "stream"        // the answer is streamed
	CheckUsage       Check = "usage"         // the answer ends with token counts
	CheckContext     Check = "context"       // prompt and output fit the context length that the service reports
	CheckPrompt      Check = "prompt_tokens" // the prompt has about the length that was asked for
)

// Problem is something that stands in the way of measuring, and what to do about it.
type Problem struct {
	Check   Check  `json:"check"`
	Message string `json:"message"` // one line, without secrets
	Fatal   bool   `json:"fatal"`   // no point could win; otherwise the figures are merely not what was asked for
}

// PreflightConfig says what is going to be measured.
type PreflightConfig struct {
	Request       func(outputTokens int64) (workload.Request, error) // a request of the trial's shape for so many tokens
	Model         string
	APIKeyEnv     string  // name of the environment variable that the key comes from; empty: there is none
	ContextTokens int64   // most tokens of one request, prompt and output; 0: not known
	Skip          []Check // problems of these are left out
}

// Report is what Preflight found out.
type Report struct {
	Descriptors int64           `json:"descriptors"` // open files that the process may have, after raising the limit
	Ports       int64           `json:"ports"`       // local ports for connections to one address; 0: not known
	Addresses   []AddressReport `json:"addresses"`   // of the client's URLs, in their order
}

// AddressReport is what Preflight found out about one URL of the service.
type AddressReport struct {
	URL           string          `json:"url"`            // without userinfo
	RTT           *float64        `json:"rtt_s"`          // least time of a few TCP connects in seconds
	Models        []string        `json:"models"`         // ids that /models offers; nil where it does not answer
	ContextLength *int64          `json:"context_length"` // of the model, as /models reports it
	Request       *measure.Record `json:"request"`        // the request that was made
	KeepsOpen     bool            `json:"keeps_open"`     // the response had not ended soon after [DONE], so connections can't be used again
	HangsUp       bool            `json:"hangs_up"`       // the connection was closed behind the response, so connections can't be used again
}

const (
	preflightTokens  = 16              // enough for the first text behind a model's own markers
	preflightWait    = 5 * time.Second // for a connection and for /models
	preflightDials   = 5
	hangUp           = 100 * time.Millisecond // for which a service that closes its connection behind a response is given
	spareDescriptors = 64                     // files, the service's process, its metrics
	maxModels        = 1 << 20
)

// Preflight looks, before the first point, at whether the service can be measured: with a request of the very shape that the points send, on the
// same path and connections. To each of the client's URLs it makes a few connections, a GET of /models before and behind, whose failing alone is no
// problem, and one request. Where the service hangs up behind it, each request from then on has a connection of its own. Where an early check fails,
// the later ones that need it are not made. The error is the context's or that of making the request.
func Preflight(ctx context.Context, c *Client, config PreflightConfig) (Report, []Problem, error) {
	report := Report{Descriptors: raiseDescriptors(), Ports: localPorts()}
	problems := limitProblems(report, c.config.Streams, int64(len(c.bases)))
	request, err := config.Request(preflightTokens)
	if err != nil {
		return report, nil, fmt.Errorf("making a request of %d output tokens: %w", preflightTokens, err)
	}
	for i := range c.bases {
		found, faults := c.probe(ctx, &c.bases[i], request, config)
		if ctx.Err() != nil {
			return report, nil, context.Cause(ctx)
		}
		report.Addresses = append(report.Addresses, found)
		c.single = c.single || found.HangsUp
		for _, p := range faults {
			p.Message = c.excerpt(found.URL+": "+p.Message, 2*maxMessage)
			problems = append(problems, p)
		}
	}
	if c.single {
		c.Close() // of those that are idle, none is used again
	}
	skipped := func(p Problem) bool { return slices.Contains(config.Skip, p.Check) }
	return report, slices.DeleteFunc(problems, skipped), nil
}

// limitProblems holds what the machine allows against what the streams need.
func limitProblems(r Report, streams, addresses int64) []Problem {
	var problems []Problem
	if need := streams + spareDescriptors; r.Descriptors < need {
		problems = append(problems, Problem{CheckDescriptors, fmt.Sprintf(
			"%d requests in flight need %d open files, and the limit is %d: raise it (ulimit -n %d), or lower the load; request.skip_checks: [\"descriptors\"] leaves this check out", streams, need, r.Descriptors, need), true})
	}
	if need := (streams + addresses - 1) / addresses; r.Ports > 0 && r.Ports < need {
		problems = append(problems, Problem{CheckPorts, fmt.Sprintf(
			"%d connections to one address need as many local ports, and there are %d: widen the range (%s), or lower the load; request.skip_checks: [\"ports\"] leaves this check out", need, r.Ports, portSetting), true})
	}
	return problems
}

func (c *Client) probe(ctx context.Context, to *base, request workload.Request, config PreflightConfig) (AddressReport, []Problem) {
	found := AddressReport{URL: strings.TrimSuffix(to.root.String(), "/")}
	rtt, err := c.connectTime(ctx, to)
	if err != nil {
		return found, []Problem{{CheckReach, "no connection: " + err.Error() + ": is the service running, and are host and port right?", true}}
	}
	found.RTT = &rtt
	found.Models, found.ContextLength = c.models(ctx, to, config.Model, &trace{clock: c.config.Clock})
	r := measure.Record{Index: -1, Phase: measure.Probe, Scheduled: c.config.Clock.Now(), Dispatched: c.config.Clock.Now()}
	if request.PromptTokens > 0 {
		r.RequestedPromptTokens = &request.PromptTokens
	}
	before := c.KeptOpen()
	c.sendTo(ctx, to, request, &r, func() {})
	found.Request, found.KeepsOpen = &r, c.KeptOpen() > before
	if r.Status == measure.OK && !found.KeepsOpen && !c.config.HTTP2 {
		found.HangsUp = c.single || c.config.IdleTimeout > hangUp && c.hangsUp(ctx, to) // within hangUp the client might have closed it
	}
	return found, diagnose(found, config, c.config.HTTP2, to.userinfo)
}

// hangsUp reports whether the service closes a connection when a response has ended. llama.cpp's server does so after each stream, and announces the
// opposite: a request that is sent on the connection meanwhile fails.
func (c *Client) hangsUp(ctx context.Context, to *base) bool {
	select {
	case <-time.After(hangUp):
	case <-ctx.Done():
		return false
	}
	again := &trace{clock: c.config.Clock}
	c.models(ctx, to, "", again)
	return again.connected.Load() != 0 && !again.reused.Load()
}

// connectTime is the least time that a few TCP connects to the address take, in seconds: about one round trip, to whatever ends the connection.
func (c *Client) connectTime(ctx context.Context, to *base) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, preflightWait)
	defer cancel()
	address := dialAddress(to.root)
	var least time.Duration
	for i := range preflightDials {
		started := c.config.Clock.Now()
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return 0, err
		}
		took := c.config.Clock.Now().Sub(started)
		address = conn.RemoteAddr().String() // the name is looked up once
		conn.Close()
		if i == 0 || took < least {
			least = took
		}
	}
	return least.Seconds(), nil
}

// models asks what the service serves, and for model's context length. It is nil where it does not say.
func (c *Client) models(ctx context.Context, to *base, model string, t *trace) ([]string, *int64) {
	response, body, err := c.way.send(ctx, &call{target: &to.models, deadline: time.Now().Add(preflightWait), trace: t})
	if err != nil {
		return nil, nil
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxModels))
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, nil
	}
	var listing struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen *int64 `json:"max_model_len"` // vLLM and SGLang
			Meta        struct {
				Context *int64 `json:"n_ctx"` // llama.cpp
			} `json:"meta"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &listing) != nil {
		return nil, nil
	}
	var context *int64
	ids := make([]string, 0, len(listing.Data))
	for _, m := range listing.Data {
		ids = append(ids, c.excerpt(m.ID, maxMessage))
		if m.ID == model {
			context = cmp.Or(m.MaxModelLen, m.Meta.Context)
		}
	}
	return ids, context
}
