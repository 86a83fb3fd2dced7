package simulator

import (
	"encoding/json"
	"strconv"
)

// usage is what the service says an answer took.
type usage struct {
	prompt, completion, reasoning int
	cached                        *int // nil: not said
}

// appendBrief appends the usage that stands in every event of continuous_usage_stats.
func (u usage) appendBrief(dst []byte) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.prompt), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.prompt+u.completion), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.completion), 10)
	return append(dst, '}')
}

// appendFull appends the usage of the whole answer.
func (u usage) appendFull(dst []byte) []byte {
	dst = u.appendBrief(dst)
	dst = dst[:len(dst)-1]
	if u.cached != nil {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
		dst = strconv.AppendInt(dst, int64(*u.cached), 10)
		dst = append(dst, '}')
	}
	if u.reasoning > 0 {
		dst = append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, int64(u.reasoning), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// encoder writes the events of one answer into one buffer, which is used anew for each of them: what all events begin with is written once.
type encoder struct {
	kind   api
	layout layout
	answer answer
	buf    []byte
	head   int // length of what all events begin with
}

// reset makes e the encoder of an answer. Its buffer is kept.
func (e *encoder) reset(kind api, l layout, a answer, stream bool, id, model string, created int64) {
	e.kind, e.layout, e.answer = kind, l, a
	e.buf = append(e.buf[:0], `data: {"id":"`...)
	if kind == apiChat {
		e.buf = append(e.buf, "chatcmpl-"...)
	} else {
		e.buf = append(e.buf, "cmpl-"...)
	}
	e.buf = append(e.buf, quoted(id)[1:]...)
	switch {
	case kind == apiCompletions:
		e.buf = append(e.buf, `,"object":"text_completion","created":`...)
	case stream:
		e.buf = append(e.buf, `,"object":"chat.completion.chunk","created":`...)
	default:
		e.buf = append(e.buf, `,"object":"chat.completion","created":`...)
	}
	e.buf = strconv.AppendInt(e.buf, created, 10)
	e.buf = append(e.buf, `,"model":`...)
	e.buf = append(e.buf, quoted(model)...)
	e.buf = append(e.buf, `,"choices":[`...)
	e.head = len(e.buf)
}

// role is the first event of a chat.
func (e *encoder) role(u *usage) []byte {
	b := append(e.buf[:e.head], `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`...)
	return e.close(b, u)
}

// tokens is the event that carries tokens from to to, which are of one section. finish is empty in all but the last.
func (e *encoder) tokens(from, to int, finish string, u *usage) []byte {
	b := e.buf[:e.head]
	if e.kind == apiCompletions {
		b = append(b, `{"index":0,"text":"`...)
		b = e.answer.appendText(b, from, to, from == 0)
		b = append(b, `"`...)
	} else {
		b = append(b, `{"index":0,"delta":`...)
		b = e.delta(b, from, to)
	}
	return e.close(appendFinish(b, finish), u)
}

// finish is an event that carries a finish reason and no token.
func (e *encoder) finish(reason string, u *usage) []byte {
	b := e.buf[:e.head]
	if e.kind == apiCompletions {
		b = append(b, `{"index":0,"text":""`...)
	} else {
		b = append(b, `{"index":0,"delta":{"content":""}`...)
	}
	return e.close(appendFinish(b, reason), u)
}

func (e *encoder) delta(b []byte, from, to int) []byte {
	kind, start, end := e.layout.section(from)
	switch kind {
	case eventReasoning:
		b = append(b, `{"reasoning_content":"`...)
		b = e.answer.appendText(b, from, to, from == start)
		return append(b, `"}`...)
	case eventContent:
		b = append(b, `{"content":"`...)
		b = e.answer.appendText(b, from, to, from == start)
		return append(b, `"}`...)
	}
	b = append(b, `{"tool_calls":[{"index":0,`...)
	if from == start {
		b = append(b, `"id":"call_0","type":"function",`...)
	}
	b = append(b, `"function":{`...)
	if from == start {
		b = append(b, `"name":"look_up",`...)
	}
	b = append(b, `"arguments":"`...)
	b = e.appendArguments(b, from, to, start, end)
	return append(b, `"}}]}`...)
}

// appendArguments appends a part of {"query": "…"}, escaped: the parts make one JSON text.
func (e *encoder) appendArguments(b []byte, from, to, start, end int) []byte {
	if from == start {
		b = append(b, `{\"query\": \"`...)
	}
	b = e.answer.appendText(b, from, to, from == start)
	if to == end {
		b = append(b, `\"}`...)
	}
	return b
}

func appendFinish(b []byte, reason string) []byte {
	if reason == "" {
		return append(b, `,"logprobs":null,"finish_reason":null}`...)
	}
	b = append(b, `,"logprobs":null,"finish_reason":"`...)
	b = append(b, reason...)
	return append(b, `","stop_reason":null}`...)
}

// close ends an event, with the usage so far where it is asked for in every event.
func (e *encoder) close(b []byte, u *usage) []byte {
	b = append(b, ']')
	if u != nil {
		b = append(b, `,"usage":`...)
		b = u.appendBrief(b)
	}
	return e.keep(append(b, "}\n\n"...))
}

// usage is the last event before the end, without choices.
func (e *encoder) usage(u usage) []byte {
	b := append(e.buf[:e.head], `],"usage":`...)
	b = u.appendFull(b)
	return e.keep(append(b, "}\n\n"...))
}

// keep remembers a buffer that has grown.
func (e *encoder) keep(b []byte) []byte {
	e.buf = b
	return b
}

// body is the whole answer where it is not streamed.
func (e *encoder) body(finish string, sent int, u usage) []byte {
	b := append([]byte{}, e.buf[len("data: "):e.head]...)
	if e.kind == apiCompletions {
		b = append(b, `{"index":0,"text":"`...)
		b = e.answer.appendText(b, 0, sent, true)
		b = append(b, `"`...)
	} else {
		b = append(b, `{"index":0,"message":{"role":"assistant"`...)
		b = e.appendMessage(b, sent)
		b = append(b, '}')
	}
	b = append(appendFinish(b, finish), `],"usage":`...)
	b = u.appendFull(b)
	return append(b, '}')
}

func (e *encoder) appendMessage(b []byte, sent int) []byte {
	l := e.layout
	b = append(b, `,"content":"`...)
	b = e.answer.appendText(b, l.reasoning, min(l.visible, sent), true)
	b = append(b, `"`...)
	if sent > 0 && l.reasoning > 0 {
		b = append(b, `,"reasoning_content":"`...)
		b = e.answer.appendText(b, 0, l.reasoning, true)
		b = append(b, `"`...)
	}
	if sent > 0 && l.visible < l.total {
		b = append(b, `,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"look_up","arguments":"`...)
		b = e.appendArguments(b, l.visible, l.total, l.visible, l.total)
		b = append(b, `"}}]`...)
	}
	return b
}

// quoted is text as a JSON string.
func quoted(text string) []byte {
	q, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // json writes any string
	}
	return q
}
