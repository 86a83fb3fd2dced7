package workload

import (
	"cmp"
	"errors"
	"fmt"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// Source makes the sessions of one measurement of one point. It is safe for several goroutines.
type Source struct {
	sessions sessions
	writer   *writer
	probe    Scale
}

// sessions are what a workload consists of: each workload is one implementation. The same place always gives the same session.
type sessions interface {
	session(at place) (*Session, error)
}

// New gives the source of a point's sessions, but for a workload that names a file: [NewFrom] does. Its prompts are as long as cal says; the zero Calibration is an estimate.
//
// It is an error if spec has no workload, or an extra_body that [NewEncoder] refuses.
func New(spec schema.Spec, seed Seed, cal Calibration) (*Source, error) {
	w, err := workloadWriter(spec, seed)
	if err != nil {
		return nil, err
	}
	source := &Source{writer: w, probe: cal.Words.orEstimate(shuffledWords{}, w)}
	switch {
	case spec.Workload.Fixed != nil:
		source.sessions = newFixed(*spec.Workload.Fixed, w, cal)
	case spec.Workload.Random != nil:
		w.sharePrefix(spec.Workload.Random.SharedPrefixTokens, cal)
		source.sessions = newRandom(*spec.Workload.Random, w, cal)
	case spec.Workload.Sessions != nil:
		return newTalks(*spec.Workload.Sessions, w, cal), nil
	case spec.Workload.Tree != nil:
		return NewTree(ShapeOf(*spec.Workload.Tree), spec, seed, cal)
	default:
		return nil, errors.New("making requests: the sessions of the workload stand in a file")
	}
	return source, nil
}

// Session gives the session with an index within a phase: pure in both, whatever was asked before. It makes no request yet: that is what
// [Turn.Build] of its turns does, at a cost that grows with the prompt's length alone (200 µs for 32,000 tokens).
//
// It is an error if index is below 0 or above 2^44-1, or phase is none of measure's.
func (s *Source) Session(phase measure.Phase, index int64) (*Session, error) {
	at, err := placeOf(phase, index)
	if err != nil {
		return nil, err
	}
	session, err := s.sessions.session(at)
	if err != nil {
		return nil, err
	}
	if r, ok := s.sessions.(*recorded); ok {
		at = r.lap(at) // what a trace shares between sessions stays shared
	}
	s.writer.salt.season(session, at)
	return session, nil
}

// Probe makes the request of the context probe: promptTokens of plain words, whatever the workload, and outputTokens to be answered. It is the
// same for each call with equal lengths. The count is exact where the calibration covered promptTokens.
func (s *Source) Probe(promptTokens, outputTokens int64) Request {
	asked := tokens{promptTokens, outputTokens}
	return s.writer.salt.salted(s.writer.written(inContextProbe, shuffledWords{}, s.probe.lengthOf(promptTokens), asked), inContextProbe)
}

// single is a session of one request.
func single(request func() Request) *Session {
	return &Session{Turns: []Turn{{Build: func([]Answer) (Request, error) { return request(), nil }}}}
}

// writer writes the requests of a source.
type writer struct {
	encoder *Encoder
	seed    Seed
	text    key
	prefix  []byte  // that prompts share, safe inside a JSON string; empty where they share none
	nonces  *nonces // nil where the cache is shared, or salted
	salt    *salt   // nil where the cache is not salted
}

// share puts a prefix of some words in front of all that is written from then on, the same in all points and repeats of the trial.
func (w *writer) share(words int64) {
	w.prefix = append(shuffledWords{}.append(nil, length{words: words}, w.seed.prefix().stream(0)), paragraph...)
}

// sharePrefix shares a prefix of some tokens as it was calibrated, or else by an estimate; 0 is none.
func (w *writer) sharePrefix(promptTokens int64, cal Calibration) {
	if promptTokens > 0 {
		w.share(cmp.Or(cal.PrefixWords, max(1, promptTokens*1000/estimatedRate)))
	}
}

// opening is the beginning of a prompt: the shared prefix and the nonce of a place.
func (w *writer) opening(b []byte, at place) []byte {
	return w.nonces.append(append(b, w.prefix...), at)
}

// newWriter gives the writer of requests whose prompts have promptTokens or more.
func newWriter(spec schema.Spec, seed Seed, promptTokens int64) (*writer, error) {
	encoder, err := NewEncoder(spec.Model, spec.Request)
	if err != nil {
		return nil, fmt.Errorf("making requests: %w", err)
	}
	w := &writer{encoder: encoder, seed: seed, text: seed.text()}
	switch {
	case spec.Request.Cache == "shared":
	case spec.Request.CacheSalt:
		w.salt = newSalt(seed)
	default:
		w.nonces = newNonces(seed, promptTokens)
	}
	return w, nil
}

// workloadWriter gives the writer of the requests of spec's workload.
func workloadWriter(spec schema.Spec, seed Seed) (*writer, error) {
	switch w := spec.Workload; {
	case w.Tree != nil, w.DAG != nil, w.Prompts != nil, w.ShareGPT != nil, w.Sessions != nil, w.Trace != nil, w.Weka != nil:
		return newWriter(spec, seed, wholeNonce)
	case w.Fixed == nil && w.Random == nil:
		return nil, errors.New("making requests: the specification has no workload")
	}
	promptTokens, _ := spec.Workload.Tokens()
	if r := spec.Workload.Random; r != nil {
		prompt, _ := r.Lengths()
		promptTokens, _ = prompt.Bounds()
		promptTokens -= r.SharedPrefixTokens
	}
	return newWriter(spec, seed, promptTokens)
}

// request writes a request: room is about how long its text is in bytes, write appends it, safe inside a JSON string.
func (w *writer) request(write func(b []byte) []byte, room int64, asked tokens) Request {
	const other = 512 // of a body's bytes: the nonce and the fields
	b := write(w.encoder.begin(make([]byte, 0, room+other)))
	return Request{Body: w.encoder.end(b, asked.output), PromptTokens: asked.prompt, OutputTokens: asked.output}
}

// written writes the request at a place with a nonce and a text of a kind.
func (w *writer) written(at place, kind text, size length, asked tokens) Request {
	room := (size.words+size.fillers+kind.constantWords())*bytesPerWord + int64(len(w.prefix))
	return w.request(func(b []byte) []byte {
		return kind.append(w.opening(b, at), size, w.text.stream(at))
	}, room, asked)
}

// tokens are the lengths that a request asks for.
type tokens struct{ prompt, output int64 }
