package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweetspot/runner/measure"
	"sweetspot/runner/workload/trace"
	"sweetspot/schema"
)

// Description is what a workload asks, without asking it. A nil field is not known.
type Description struct {
	Workload string   `json:"workload"`
	Sessions int64    `json:"sessions"` // that were looked at: all of a file, the first 1,000 of what is generated
	Requests int64    `json:"requests"`
	Turns    Spectrum `json:"turns"` // requests of a session, its forks left out
	Forks    int64    `json:"forks"`
	Prompt   Spectrum `json:"prompt_tokens"`    // of requests whose length is known before they are sent
	PromptOf *string  `json:"prompt_tokens_of"` // which requests those are: [AllRequests], [FirstTurns] or [SomeRequests]; nil where there is none
	Output   Spectrum `json:"output_tokens"`    // asked for at most
	Duration *float64 `json:"duration_s"`       // from the first session's start to the last's, by a trace's own times
	// SharedBlocks is the share of the prompts' blocks that, with all before them, an earlier request of the file had. Of very many blocks it is estimated
	// from a sample.
	SharedBlocks *float64 `json:"shared_blocks"`
	First        []string `json:"first_prompts"` // of the first sessions, cut
}

// Which requests have a length that is known before they are sent. That of a later turn often hangs on the answers before it.
const (
	AllRequests  = "all_requests"
	FirstTurns   = "first_turns"
	SomeRequests = "some_requests"
)

const (
	describedSessions = 1000 // of a workload that has no end
	describedPrompts  = 3
	shownOfPrompt     = 160 // bytes
)

// Describe looks at a workload. Of a trace it reads the file once more, in constant memory; of others it makes the first requests as if every answer were
// empty. Nonces are left out. contents is what a file holds, nil where the workload names none.
func Describe(contents *Contents, spec schema.Spec, seed Seed) (Description, error) {
	spec.Request.Cache = "shared" // what the workload says, without nonces
	source, err := NewFrom(contents, spec, seed, Calibration{})
	if err != nil {
		return Description{}, err
	}
	d := &describing{Description: Description{Workload: spec.Workload.Name()}, prefixes: newSample()}
	if contents != nil && contents.trace != nil {
		err = d.recording(contents.trace)
	} else {
		sessions := int64(describedSessions)
		if contents != nil {
			sessions = contents.Sessions()
		}
		err = d.generated(source, sessions)
	}
	if err != nil {
		return Description{}, err
	}
	for i := range min(describedPrompts, d.Sessions) {
		text, err := firstPrompt(source, i)
		if err != nil {
			return Description{}, err
		}
		d.First = append(d.First, text)
	}
	d.Description.Turns, d.Prompt, d.Output = d.turns.spectrum(), d.prompts.spectrum(), d.outputs.spectrum()
	d.Description.PromptOf = d.promptOf()
	return d.Description, nil
}

// describing is a description in the making.
type describing struct {
	Description
	turns, prompts, outputs tally
	prefixes                *sample
	later                   bool // a turn that is not the first of its session has a known length
}

// promptOf says which requests have a known length.
func (d *describing) promptOf() *string {
	of := SomeRequests
	switch {
	case d.Prompt.N == 0:
		return nil
	case d.Prompt.N == d.Requests:
		of = AllRequests
	case !d.later:
		of = FirstTurns
	}
	return &of
}

func (d *describing) request(prompt, output int64) {
	d.Requests++
	if prompt > 0 {
		d.prompts.add(prompt)
	}
	if output > 0 {
		d.outputs.add(output)
	}
}

// generated looks at sessions that a source makes.
func (d *describing) generated(source *Source, sessions int64) error {
	for i := range sessions {
		session, err := source.Session(measure.Measured, i)
		if err != nil {
			return err
		}
		d.Sessions++
		if err := d.session(session, nil); err != nil {
			return err
		}
	}
	return nil
}

func (d *describing) session(s *Session, before []Answer) error {
	var turns int64
	answers := slices.Clone(before)
	for i := range s.Turns {
		turn := &s.Turns[i]
		if turn.Build != nil {
			request, err := turn.Build(answers)
			if err != nil {
				return err
			}
			d.request(request.PromptTokens, request.OutputTokens)
			d.later = d.later || turns > 0 && request.PromptTokens > 0
			turns++
		}
		answers = append(answers, Answer{})
		for _, fork := range turn.Forks {
			d.Forks++
			var inherited []Answer
			if fork.Inherits {
				inherited = answers
			}
			if err := d.session(fork.Session, inherited); err != nil {
				return err
			}
		}
	}
	d.turns.add(turns)
	return nil
}

// recording looks at the sessions of a trace.
func (d *describing) recording(r *Recording) error {
	for i := range r.found.sessions {
		session, err := r.session(i)
		if err != nil {
			return err
		}
		d.Sessions++
		start := uint64(0)
		if session.Local {
			start = mix(uint64(i) + 1)
		}
		d.recorded(session, r.context, start)
	}
	if !r.found.untimed {
		seconds := (r.found.last - r.found.first).Seconds()
		d.Duration = &seconds
	}
	d.SharedBlocks = d.prefixes.repeated()
	return nil
}

func (d *describing) recorded(s *trace.Session, context contextLimit, start uint64) {
	var turns int64
	for i := range s.Turns {
		turn := &s.Turns[i]
		if sends(turn) {
			d.request(context.prompt(turn), turn.OutputTokens)
			d.later = d.later || turns > 0 && context.prompt(turn) > 0
			turns++
		}
		prefix := start
		for _, block := range turn.Blocks {
			prefix = mix(prefix ^ mix(block+1))
			d.prefixes.add(prefix)
		}
		for _, fork := range turn.Forks {
			d.Forks++
			d.recorded(fork.Session, context, start)
		}
	}
	d.turns.add(turns)
}

// firstPrompt is what the first request of a session says, cut.
func firstPrompt(source *Source, i int64) (string, error) {
	session, err := source.Session(measure.Measured, i)
	if err != nil {
		return "", err
	}
	for t := range session.Turns {
		if build := session.Turns[t].Build; build != nil {
			request, err := build(make([]Answer, t))
			if err != nil {
				return "", err
			}
			return textOf(request.Body)
		}
	}
	return "", nil
}

// textOf is the text of a request's body: its prompt, or its messages.
func textOf(body []byte) (string, error) {
	var fields struct {
		Prompt   string
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return "", fmt.Errorf("reading a request: %w", err)
	}
	texts := []string{fields.Prompt}
	for _, m := range fields.Messages {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			text = string(m.Content)
		}
		texts = append(texts, text)
	}
	whole := strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
	if len(whole) > shownOfPrompt {
		whole = strings.ToValidUTF8(whole[:shownOfPrompt], "") + "…"
	}
	return whole, nil
}

// Spectrum is how a count is spread. Percentiles are by three digits; all but N are nil where nothing was counted.
type Spectrum struct {
	N    int64    `json:"n"`
	Min  *int64   `json:"min"`
	P50  *int64   `json:"p50"`
	P90  *int64   `json:"p90"`
	P99  *int64   `json:"p99"`
	Max  *int64   `json:"max"`
	Mean *float64 `json:"mean"`
}

// tally counts numbers, by three digits, in little memory.
type tally struct {
	counts         map[int64]int64
	n, least, most int64
	sum            float64
}

func (t *tally) add(v int64) {
	if t.counts == nil {
		t.counts, t.least = map[int64]int64{}, v
	}
	t.n, t.sum = t.n+1, t.sum+float64(v)
	t.least, t.most = min(t.least, v), max(t.most, v)
	step := int64(1)
	for v/step >= 1000 {
		step *= 10
	}
	t.counts[(v+step/2)/step*step]++
}

func (t *tally) spectrum() Spectrum {
	s := Spectrum{N: t.n}
	if t.n == 0 {
		return s
	}
	values := slices.Sorted(maps.Keys(t.counts))
	at := func(percent int64) *int64 { // the nearest rank
		rank := (t.n*percent + 99) / 100
		for _, v := range values {
			if rank -= t.counts[v]; rank <= 0 {
				v = min(max(v, t.least), t.most)
				return &v
			}
		}
		return &t.most
	}
	mean := t.sum / float64(t.n)
	s.Min, s.P50, s.P90, s.P99, s.Max, s.Mean = &t.least, at(50), at(90), at(99), &t.most, &mean
	return s
}

// sample counts how often things come of which it keeps a part: those whose number, drawn at random, is below a bound that is lowered as they become many.
type sample struct {
	counts map[uint64]int64
	bound  uint64
}

const sampled = 1 << 20

func newSample() *sample { return &sample{counts: map[uint64]int64{}, bound: math.MaxUint64} }

func (s *sample) add(number uint64) {
	if number > s.bound {
		return
	}
	s.counts[number]++
	if len(s.counts) > sampled {
		s.bound /= 2
		maps.DeleteFunc(s.counts, func(number uint64, _ int64) bool { return number > s.bound })
	}
}

// repeated is the share of all that came which had come before; nil where nothing came.
func (s *sample) repeated() *float64 {
	if len(s.counts) == 0 {
		return nil
	}
	var all int64
	for _, n := range s.counts {
		all += n
	}
	share := float64(all-int64(len(s.counts))) / float64(all)
	return &share
}
