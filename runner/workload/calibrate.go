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
// is measured once. There are at most 12 requests for each length, one after the other, usually 4 to 7. Isolated prompts are sent
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
	var plain []int64 // lengths sought of plain words
	switch {
	case spec.Workload.Fixed != nil:
		cal.Story, err = c.scale(newStory(seed, prompt), prompt)
	case prompt > 0:
		plain = append(plain, prompt)
	}
	if contextTokens > 0 {
		plain = append(plain, contextTokens)
	}
	if err == nil && len(plain) > 0 {
		cal.Words, err = c.scale(shuffledWords{}, plain...)
	}
	return cal, err
}

// calibrator sends the requests of a calibration.
type calibrator struct {
	ctx    context.Context
	writer *writer
	count  Count
}

// scale measures a kind of text and seeks the lengths wanted.
func (c *calibrator) scale(kind text, wanted ...int64) (Scale, error) {
	search := newSearch(kind.deck(), func(size length) (int64, error) { return c.tokensOf(kind, size) })
	var scale Scale
	for _, promptTokens := range wanted {
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
	return c.count(c.ctx, c.writer.written(inCalibration, kind, size, tokens{output: 1}))
}
