package simulator

// layout says which tokens of an answer are what: first reasoning, then visible text, then the arguments of a tool call. It is given as the
// index at which each section ends.
type layout struct{ reasoning, visible, total int }

// layoutOf lays out an answer of total tokens. Reasoning comes first where there are too few for all; plain completions are all text.
func layoutOf(cfg Config, kind api, total int) layout {
	if kind == apiCompletions {
		return layout{visible: total, total: total}
	}
	reasoning := min(cfg.ReasoningTokens, total)
	tool := min(cfg.ToolCallTokens, total-reasoning)
	return layout{reasoning: reasoning, visible: total - tool, total: total}
}

// starts are the tokens that begin a section.
func (l layout) starts() []int { return []int{0, l.reasoning, l.visible} }

// section is the kind of event that carries token i, and where the section that i is in begins and ends.
func (l layout) section(i int) (kind string, start, end int) {
	switch {
	case i < l.reasoning:
		return eventReasoning, 0, l.reasoning
	case i < l.visible:
		return eventContent, l.reasoning, l.visible
	default:
		return eventToolCall, l.visible, l.total
	}
}

// chunk is how many tokens the event after sent of them carries. As in vLLM the first token goes alone, and then interval of them together; no
// event carries tokens of two sections.
func (l layout) chunk(sent, interval int) int {
	if sent == 0 {
		return 1
	}
	_, _, end := l.section(sent)
	return min(interval, end-sent)
}

// Why answers end, as vLLM names it.
const (
	finishStop      = "stop"
	finishLength    = "length"
	finishToolCalls = "tool_calls"
	finishAbort     = "abort" // in /metrics only
)

// finish is why an answer of this layout ends.
func (l layout) finish(named bool) string {
	switch {
	case l.visible < l.total:
		return finishToolCalls
	case named:
		return finishLength
	default:
		return finishStop
	}
}
