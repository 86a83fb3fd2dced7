package schema

import "math"

// NewRandom asks for prompts and answers of one length each.
func NewRandom(promptTokens, outputTokens int64) *Random {
	return &Random{PromptTokens: Distribution{Constant: &promptTokens}, OutputTokens: Distribution{Constant: &outputTokens}}
}

// Lengths are how the lengths of r's prompts and answers vary, each by itself; of pairs they go together.
func (r *Random) Lengths() (prompt, output Distribution) {
	for _, pair := range r.Pairs {
		prompt.Weighted = append(prompt.Weighted, Weighted{pair.PromptTokens, pair.Weight})
		output.Weighted = append(output.Weighted, Weighted{pair.OutputTokens, pair.Weight})
	}
	if r.Pairs != nil {
		return prompt, output
	}
	return r.PromptTokens.around(r.RangeRatio), r.OutputTokens.around(r.RangeRatio)
}

// around spreads a number evenly by a share of itself; 0 leaves it as it is.
func (d Distribution) around(ratio float64) Distribution {
	if ratio == 0 || d.Constant == nil {
		return d
	}
	n := float64(*d.Constant)
	return Distribution{Uniform: &Range{Min: max(1, int64(math.Floor(n*(1-ratio)))), Max: int64(math.Ceil(n * (1 + ratio)))}}
}

// Bounds are the least and the greatest number that d gives. They are its mean, rounded, where it has no such bound.
func (d Distribution) Bounds() (least, most int64) {
	spread := d.Normal
	if spread == nil {
		spread = d.Lognormal
	}
	switch {
	case d.Constant != nil:
		return *d.Constant, *d.Constant
	case d.Uniform != nil:
		return d.Uniform.Min, d.Uniform.Max
	case spread != nil:
		least, most = d.typical(), d.typical()
		if spread.Min > 0 {
			least = spread.Min
		}
		if spread.Max > 0 {
			most = spread.Max
		}
		return least, most
	}
	for i, w := range d.Weighted {
		if i == 0 {
			least, most = w.Value, w.Value
		}
		least, most = min(least, w.Value), max(most, w.Value)
	}
	return least, most
}

// longest is the most that a prompt and its answer have together.
func (r *Random) longest() int64 {
	var most int64
	for _, pair := range r.Pairs {
		most = max(most, pair.PromptTokens+pair.OutputTokens)
	}
	if r.Pairs != nil {
		return most
	}
	prompt, output := r.Lengths()
	_, longestPrompt := prompt.Bounds()
	_, longestOutput := output.Bounds()
	return longestPrompt + longestOutput
}
