package workload

import (
	"sweetspot/schema"
)

// random asks with words in another order in each request.
type random struct {
	writer *writer
	asked  askedLengths
	drawn  key
	scale  Scale
}

func newRandom(spec schema.Random, w *writer, cal Calibration) *random {
	return &random{writer: w, asked: askedLengthsOf(spec), drawn: w.seed.lengths(), scale: cal.Words.orEstimate(shuffledWords{}, w)}
}

func (r *random) session(at place) (*Session, error) {
	asked := r.asked.draw(r.drawn.stream(at))
	return single(func() Request { return r.writer.written(at, shuffledWords{}, r.scale.lengthOf(asked.prompt), asked) }), nil
}

// askedLengths are the lengths that random requests ask for.
type askedLengths struct {
	pairs          []schema.Pair // that go together; nil where each length is drawn by itself
	which          Distribution  // of the pairs
	prompt, output Distribution
}

func askedLengthsOf(spec schema.Random) askedLengths {
	prompt, output := spec.Lengths()
	a := askedLengths{pairs: spec.Pairs, prompt: distributionOf(prompt), output: distributionOf(output)}
	for i, pair := range spec.Pairs {
		a.which.Weighted = append(a.which.Weighted, Weighted{int64(i), pair.Weight})
	}
	return a
}

func (a askedLengths) draw(random *stream) tokens {
	if a.pairs != nil {
		pair := a.pairs[a.which.draw(random)]
		return tokens{pair.PromptTokens, pair.OutputTokens}
	}
	return tokens{prompt: max(1, a.prompt.draw(random)), output: max(1, a.output.draw(random))}
}
