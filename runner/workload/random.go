package workload

import "sweetspot/schema"

// random asks with words in another order in each request.
type random struct {
	writer *writer
	asked  tokens
	size   length
}

func newRandom(spec schema.Random, w *writer, cal Calibration) *random {
	scale := cal.Words.orEstimate(shuffledWords{}, w)
	return &random{writer: w, asked: tokens{spec.PromptTokens, spec.OutputTokens}, size: scale.lengthOf(spec.PromptTokens)}
}

func (r *random) session(at place) (*Session, error) {
	return single(func() Request { return r.writer.written(at, shuffledWords{}, r.size, r.asked) }), nil
}
