package workload

import (
	"context"
	"fmt"

	"sweetspot/schema"
)

// BlockFit is the text of blocks of a number of tokens.
type BlockFit struct {
	Tokens  int64 `json:"tokens"`              // sought
	Counted int64 `json:"counted_thousandths"` // of tokens of one block, by the service
	Words   int64 `json:"words"`               // besides the eight that tell blocks apart
	Fillers int64 `json:"fillers"`
}

const (
	sampleTokens = 256 // of the blocks that are counted, about
	sampleTries  = 4
)

// calibrateReplay finds the texts of a trace's prompts: how many tokens words make, and blocks. Blocks are counted by the difference between prompts of
// so many and of twice as many, which the template and the nonce have no part in. It takes up to 10 requests and, for each size of block, up to 8 more.
func calibrateReplay(ctx context.Context, r *Recording, spec schema.Spec, seed Seed, cal Calibration, count Count) (Calibration, error) {
	longest := r.found.longest
	if longest == 0 { // the texts are known
		return cal, nil
	}
	w, err := workloadWriter(spec, seed)
	if err != nil {
		return cal, err
	}
	c := calibrator{ctx: ctx, writer: w, count: count}
	if cal.Words.Rate == 0 {
		if cal.Words, err = c.scale(shuffledWords{}, sought{all: longest}); err != nil {
			return cal, err
		}
	}
	for _, tokens := range r.found.blocks {
		fit, err := c.block(tokens, cal.Words.Rate)
		if err != nil {
			return cal, fmt.Errorf("calibrating blocks of %d tokens: %w", tokens, err)
		}
		cal.Blocks = append(cal.Blocks, fit)
	}
	return cal, nil
}

// block finds the text of blocks of so many tokens: first by the rate of words, then with what is missing made up by fillers, or by fewer words.
func (c *calibrator) block(tokens, rate int64) (BlockFit, error) {
	text := fitOf(tokens, rate)
	best := BlockFit{Tokens: tokens}
	for range sampleTries {
		counted, err := c.blockTokens(text, max(1, sampleTokens/tokens))
		if err != nil {
			return best, err
		}
		if best.Counted == 0 || distance(counted, tokens*1000) < distance(best.Counted, tokens*1000) {
			best.Counted, best.Words, best.Fillers = counted, text.size.words, text.size.fillers
		}
		missing := tokens*1000 - counted
		switch {
		case missing >= -500 && missing <= 500:
			return best, nil
		case missing < 0 && text.size.fillers > 0:
			text.size.fillers = max(0, text.size.fillers+(missing-500)/1000)
		case missing > 0 && missing < aimedShort*1000:
			text.size.fillers += (missing + 500) / 1000
		default:
			words := text.size.words + missing/max(rate, 1)
			if missing < 0 {
				words = text.size.words + (missing-rate+1)/max(rate, 1)
			}
			if words < 1 || words == text.size.words {
				return best, nil
			}
			text.size.words = words
		}
	}
	return best, nil
}

// blockTokens is the count of one block, in thousandths.
func (c *calibrator) blockTokens(text blockText, sample int64) (int64, error) {
	kind := sampleBlocks{text}
	few, err := c.tokensOf(kind, length{words: sample})
	if err != nil {
		return 0, err
	}
	many, err := c.tokensOf(kind, length{words: 2 * sample})
	if err == nil && many <= few {
		err = errNotGrowing
	}
	return (many - few) * 1000 / sample, err
}
