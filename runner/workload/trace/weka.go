package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"sweetspot/runner/workload/input"
)

// Weka is cc-traces, one trace of a coding agent a line: the main agent's requests in the order of their times, and among them its sub-agents with their
// own. Think time is at most mostThinkTime.
//
// The main agent is a session, and so is each sub-agent. A sub-agent starts after the request before it, as much later as the times say, and runs beside
// its parent. Of the parent's later requests the first one that was recorded at or after the sub-agent's end waits for it, unless the sub-agent was
// launched to run on by itself (status async_launched). Without a think_time a request follows the one before as the times say.
func Weka(mostThinkTime time.Duration) Format {
	return Format{Name: "weka", Entries: input.JSONL{}, Parse: func(entry input.Entry) (*Session, error) {
		var line weka
		if err := decode(entry.Text, &line); err != nil {
			return nil, err
		}
		return line.session(mostThinkTime)
	}}
}

type weka struct {
	ID          string        `json:"id"`
	BlockSize   *number       `json:"block_size"`
	HashIDScope string        `json:"hash_id_scope"`
	Requests    []wekaRequest `json:"requests"`

	// Known, and not needed.
	Models       []string        `json:"models"`
	ToolTokens   number          `json:"tool_tokens"`
	SystemTokens number          `json:"system_tokens"`
	Totals       json.RawMessage `json:"totals"`
}

// wekaRequest is a request, of type n or s, or a sub-agent.
type wekaRequest struct {
	T    *number `json:"t"` // seconds since the trace's start
	Type string  `json:"type"`

	In        *number `json:"in"`
	Out       *number `json:"out"`
	HashIDs   blocks  `json:"hash_ids"`
	APITime   *number `json:"api_time"`   // seconds
	ThinkTime *number `json:"think_time"` // seconds

	DurationMS *number       `json:"duration_ms"`
	Status     string        `json:"status"`
	Requests   []wekaRequest `json:"requests"`

	// Known, and not needed: whether the answer was streamed is the preset's, as is the model.
	Model        string          `json:"model"`
	TTFT         *number         `json:"ttft"`
	InputTypes   json.RawMessage `json:"input_types"`
	OutputTypes  json.RawMessage `json:"output_types"`
	Stop         json.RawMessage `json:"stop"`
	AgentID      string          `json:"agent_id"`
	SubagentType string          `json:"subagent_type"`
	TotalTokens  *number         `json:"total_tokens"`
	ToolUseCount *number         `json:"tool_use_count"`
	Models       []string        `json:"models"`
	ToolTokens   number          `json:"tool_tokens"`
	SystemTokens number          `json:"system_tokens"`
}

const (
	subagent      = "subagent"
	asyncLaunched = "async_launched"
	mostNested    = 16     // sub-agents below one another
	mostRequests  = 10_000 // of a trace, as of every session tree
	leastBlock    = 12     // tokens of a block: fewer have no room for a text of their own
	mostBlock     = 65536
)

func (w *weka) session(mostThinkTime time.Duration) (*Session, error) {
	switch {
	case w.ID == "":
		return nil, errors.New("id is missing")
	case w.HashIDScope != "local" && w.HashIDScope != "global":
		return nil, fmt.Errorf(`hash_id_scope must be "local" or "global", not %q`, short(w.HashIDScope))
	}
	blockTokens, err := w.BlockSize.count("block_size", leastBlock)
	if err != nil {
		return nil, err
	}
	if blockTokens > mostBlock {
		return nil, fmt.Errorf("block_size must be at most %d, not %d", mostBlock, blockTokens)
	}
	a := &agents{blockTokens: blockTokens, mostThinkTime: mostThinkTime}
	agent, err := a.agent(w.Requests, "requests", 0, 0)
	if err != nil {
		return nil, err
	}
	if len(agent.session.Turns) == 0 {
		return nil, errors.New("requests is empty")
	}
	agent.session.Local = w.HashIDScope == "local"
	return agent.session, nil
}

// agents makes sessions of a trace's requests.
type agents struct {
	blockTokens   int64
	mostThinkTime time.Duration
	requests      int
}

// agent is one in the making.
type agent struct {
	session *Session
	starts  []time.Duration // of its turns
	ended   time.Duration   // its last request, so far
	ids     []uint64        // of the request before
	open    []child         // sub-agents that no turn waits for yet
}

// child is a sub-agent that was started, by the turn and the fork of it.
type child struct {
	turn, fork int
	ended      time.Duration
}

// agent makes the session of an agent whose first request was to come since a time; at names the list in errors.
func (a *agents) agent(requests []wekaRequest, at string, since time.Duration, nested int) (*agent, error) {
	if nested > mostNested {
		return nil, fmt.Errorf("%s: more than %d sub-agents stand below one another", at, mostNested)
	}
	made := &agent{session: &Session{}, ended: since}
	last := since
	for i := range requests {
		r := &requests[i]
		if a.requests++; a.requests > mostRequests {
			return nil, fmt.Errorf("a trace has at most %d requests", mostRequests)
		}
		where := fmt.Sprintf("%s[%d]", at, i)
		start, err := r.start()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", where, err)
		case nested == 0 && start < last:
			return nil, fmt.Errorf("%s: t is before that of the request before: requests must be in the order of time", where)
		}
		last = max(last, start)
		if r.Type == subagent {
			err = a.fork(made, r, start, where, nested)
		} else {
			err = a.turn(made, r, start)
			if err != nil {
				err = fmt.Errorf("%s: %w", where, err)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (r *wekaRequest) start() (time.Duration, error) {
	if r.T == nil {
		return 0, errors.New("t is missing")
	}
	return r.T.duration("t", time.Second, latest)
}

// turn adds a request.
func (a *agents) turn(made *agent, r *wekaRequest, start time.Duration) error {
	turn := Turn{BlockTokens: a.blockTokens}
	if r.Type != "n" && r.Type != "s" {
		return fmt.Errorf(`type must be "n", "s" or "subagent", not %q`, short(r.Type))
	}
	if len(r.Requests) > 0 || r.Status != "" {
		return fmt.Errorf("requests and status go with type subagent only")
	}
	var err error
	if turn.PromptTokens, err = r.In.count("in", 1); err != nil {
		return err
	}
	if turn.OutputTokens, err = r.Out.count("out", 0); err != nil {
		return err
	}
	turn.OutputTokens = max(1, turn.OutputTokens)
	if err := fits(r.HashIDs, turn.PromptTokens, a.blockTokens); err != nil {
		return err
	}
	turn.Blocks = made.blocks(r.HashIDs)
	if turn.Delay, err = a.delay(made, r, start); err != nil {
		return err
	}
	made.join(start)
	made.session.Turns = append(made.session.Turns, turn)
	made.starts = append(made.starts, start)
	made.ended, err = r.end(start)
	return err
}

// blocks are ids, which share the memory of those of the request before as far as they are equal: each request of an agent repeats them all.
func (made *agent) blocks(ids blocks) []uint64 {
	if n := len(made.ids); n > 0 && len(ids) >= n && slices.Equal(made.ids, ids[:n]) {
		made.ids = append(made.ids, ids[n:]...)
	} else {
		made.ids = slices.Clone(ids)
	}
	return slices.Clip(made.ids)
}

// delay is the think time before a request.
func (a *agents) delay(made *agent, r *wekaRequest, start time.Duration) (time.Duration, error) {
	if r.ThinkTime != nil {
		thought, err := r.ThinkTime.duration("think_time", time.Second, math.MaxInt64)
		return min(thought, a.mostThinkTime), err
	}
	return min(max(0, start-made.ended), a.mostThinkTime), nil
}

// end is when a request ended.
func (r *wekaRequest) end(start time.Duration) (time.Duration, error) {
	if r.APITime == nil {
		return start, nil
	}
	took, err := r.APITime.duration("api_time", time.Second, latest)
	return min(start, latest-took) + took, err
}

// fork adds a sub-agent to the turn before it, or to one that sends nothing where there is none.
func (a *agents) fork(made *agent, r *wekaRequest, start time.Duration, where string, nested int) error {
	if len(r.HashIDs) > 0 || r.In != nil || r.Out != nil {
		return fmt.Errorf("%s: in, out and hash_ids stand in the requests of a subagent", where)
	}
	spawned := made.ended
	if len(made.session.Turns) == 0 {
		spawned = 0
	}
	sub, err := a.agent(r.Requests, where+".requests", spawned, nested+1)
	if err != nil || len(sub.session.Turns) == 0 {
		return err // one of which no request was recorded asks nothing
	}
	if len(made.session.Turns) == 0 {
		made.session.Turns = append(made.session.Turns, Turn{})
		made.starts = append(made.starts, 0)
	}
	ended := sub.ended
	if r.DurationMS != nil {
		took, err := r.DurationMS.duration("duration_ms", time.Millisecond, mostDelay)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		ended = max(ended, min(start, latest-took)+took)
	}
	turn := len(made.session.Turns) - 1
	parent := &made.session.Turns[turn]
	parent.Forks = append(parent.Forks, Fork{Session: sub.session})
	if r.Status != asyncLaunched {
		made.open = append(made.open, child{turn: turn, fork: len(parent.Forks) - 1, ended: ended})
	}
	return nil
}

// join lets the turn that is added next, which started at a time, wait for the sub-agents that had ended by then.
func (made *agent) join(start time.Duration) {
	next := len(made.session.Turns)
	made.open = slices.DeleteFunc(made.open, func(c child) bool {
		if c.ended > start {
			return false
		}
		made.session.Turns[c.turn].Forks[c.fork].JoinAt = next
		return true
	})
}
