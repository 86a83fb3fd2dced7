package workload

import "sweetspot/schema"

// fixed asks for the same story every time. The text is written once; isolated prompts put their nonces before it, shared ones are one request.
type fixed struct {
	writer *writer
	asked  tokens
	text   []byte
	shared *Request // nil where the cache is isolated
}

func newFixed(spec schema.Fixed, w *writer, cal Calibration) *fixed {
	kind := newStory(w.seed, spec.PromptTokens)
	size := cal.Story.orEstimate(kind, w).lengthOf(spec.PromptTokens)
	f := &fixed{writer: w, asked: tokens{spec.PromptTokens, spec.OutputTokens}, text: kind.append(nil, size, nil)}
	if w.nonces == nil {
		request := f.request(0)
		f.shared = &request
	}
	return f
}

func (f *fixed) session(at place) (*Session, error) {
	return single(func() Request {
		if f.shared != nil {
			return *f.shared
		}
		return f.request(at)
	}), nil
}

func (f *fixed) request(at place) Request {
	return f.writer.request(func(b []byte) []byte { return append(f.writer.nonces.append(b, at), f.text...) }, int64(len(f.text)), f.asked)
}
