package workload

import (
	"context"
	"fmt"

	"sweetspot/schema"
)

// Count sends a request, which asks for one output token, and gives the number of prompt tokens that the service counted: usage.prompt_tokens.
type Count func(ctx context.Context, request Request) (promptTokens int64, err error)

// Calibrate finds the texts whose prompts have the lengths that the workload asks for, by the service's own count: exact where the text allows.
// contextTokens is the prompt length of the context probe, 0 where there is none. Of session trees the length of a typical first turn is sought, and the
// rate of words found with it holds for the others; a file's prompts are what they are.
//
// The prompts sent come near the length sought from below, and long texts of plain words are not sent at all: what a whole deck of words counts
// is measured once. There are at most 12 requests for each length, one after the other, usually 4 to 7; 9 where lengths vary, and as many for a shared
// prefix. Isolated prompts are sent
// with a nonce that no measured one has; a shared `fixed` prompt is sent as it will be.
//
// An error is either of count's, or says that the service's count doesn't grow with the prompt.
func Calibrate(ctx context.Context, spec schema.Spec, seed Seed, contextTokens int64, count Count) (Calibration, error) {
	w, err := workloadWriter(spec, seed)
	if err != nil {
		return Calibration{}, err
	}
	c := calibrator{ctx: ctx, writer: w, count: count}
	prompt, _ := spec.Workload.Tokens()
	var cal Calibration
	var plain sought // of plain words
	switch {
	case spec.Workload.Fixed != nil:
		cal.Story, err = c.scale(newStory(seed, prompt), sought{lengths: []int64{prompt}})
	case spec.Workload.Random != nil:
		plain = soughtOf(*spec.Workload.Random)
		cal.PrefixWords, err = c.prefix(spec.Workload.Random.SharedPrefixTokens)
	case spec.Workload.Sessions != nil:
		plain = soughtIn(spec.Workload.Sessions.PromptTokens, spec.Workload.Sessions.SharedPrefixTokens)
		cal.PrefixWords, err = c.prefix(spec.Workload.Sessions.SharedPrefixTokens)
	case prompt > 0:
		plain.lengths = append(plain.lengths, prompt)
	}
	if contextTokens > 0 {
		plain.lengths = append(plain.lengths, contextTokens)
	}
	if err == nil && !plain.nothing() {
		cal.Words, err = c.scale(shuffledWords{}, plain)
	}
	return cal, err
}

// sought is what a calibration seeks: lengths one by one, in tokens, and any length at all from the shortest up to a greatest one.
type sought struct {
	lengths []int64
	all     int64 // 0: none
}

func (s sought) nothing() bool { return len(s.lengths) == 0 && s.all == 0 }

func soughtOf(spec schema.Random) sought {
	prompt, _ := spec.Lengths()
	return soughtIn(prompt, 0)
}

// soughtIn are prompts of lengths that vary, and of some tokens more.
func soughtIn(lengths schema.Distribution, more int64) sought {
	if lengths.Constant != nil {
		return sought{lengths: []int64{*lengths.Constant + more}}
	}
	_, most := lengths.Bounds()
	for _, spread := range []*schema.Spread{lengths.Normal, lengths.Lognormal} {
		if spread != nil && spread.Max == 0 {
			most = int64(spread.Mean + rarely*spread.Std)
		}
	}
	return sought{all: most + more}
}

// rarely is how many standard deviations above its mean a length without a bound rarely lies.
const rarely = 4

// prefix finds the shared prefix of a number of tokens, and puts it in front of what is written from then on. It gives the prefix's words. What a
// prefix counts is what a short prompt counts more with it.
func (c *calibrator) prefix(promptTokens int64) (int64, error) {
	if promptTokens == 0 {
		return 0, nil
	}
	scale, err := c.scale(shuffledWords{}, sought{all: promptTokens})
	if err != nil {
		return 0, err
	}
	words := scale.lengthOf(scale.Overhead + promptTokens).words
	const steps = 3
	for range steps {
		c.writer.share(words)
		counted, err := c.tokensOf(shuffledWords{}, length{words: leastWords})
		if err != nil {
			return 0, fmt.Errorf("calibrating a shared prefix of %d tokens: %w", promptTokens, err)
		}
		missing := promptTokens - (counted - scale.Knots[0].Tokens)
		if distance(missing*1000, 0) < scale.Rate {
			break
		}
		words = max(1, words+missing*1000/scale.Rate)
	}
	c.writer.share(words)
	return words, nil
}

// calibrator sends the requests of a calibration.
type calibrator struct {
	ctx    context.Context
	writer *writer
	count  Count
}

// scale measures a kind of text and seeks the lengths wanted.
func (c *calibrator) scale(kind text, wanted sought) (Scale, error) {
	search := newSearch(kind.deck(), func(size length) (int64, error) { return c.tokensOf(kind, size) })
	var scale Scale
	if wanted.all > 0 {
		if err := search.survey(wanted.all); err != nil {
			return Scale{}, fmt.Errorf("calibrating prompts of up to %d tokens: %w", wanted.all, err)
		}
		scale.Knots, scale.Deck = search.knots(), search.deckTokens()
	}
	for _, promptTokens := range wanted.lengths {
		fit, err := search.fit(promptTokens)
		if err != nil {
			return Scale{}, fmt.Errorf("calibrating a prompt of %d tokens: %w", promptTokens, err)
		}
		scale.Fits = append(scale.Fits, fit)
	}
	scale.Overhead, scale.Rate = search.line()
	return scale, nil
}

func (c *calibrator) tokensOf(kind text, size length) (int64, error) {
	request := c.writer.written(inCalibration, kind, size, tokens{output: 1})
	return c.count(c.ctx, c.writer.salt.salted(request, inCalibration))
}
