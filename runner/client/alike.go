package client

import "bytes"

// alike reads the frames of a stream that differ from an earlier one in nothing but its text: nearly all that a service sends. What stands before
// and behind the text is compared, and of the text itself it is looked at whether it is a JSON string, so the result is the decoder's; a text with
// an escape is left to that. Comparing costs a tenth of decoding.
type alike struct {
	data     []byte // of the earlier frame
	from, to int    // its text, quotes and all
	thought  bool   // the text is reasoning
}

// learn takes the frame that d has just decoded, if it says nothing but one text.
func (a *alike) learn(d *decoder) {
	f, text := &d.frame, d.frame.content
	a.thought = f.reasoning != nil
	if a.thought {
		text = f.reasoning
	}
	if text == nil || f.content != nil && a.thought || f.toolCalls != nil || f.finish != nil || f.counted {
		a.data = a.data[:0]
		return
	}
	a.data = append(a.data[:0], d.data...)
	a.from, a.to = f.stop-len(text), f.stop
}

// read is what data says, false where the decoder has to read it.
func (a *alike) read(data []byte) (frame, bool) {
	behind := len(a.data) - a.to
	stop := len(data) - behind
	if len(a.data) == 0 || stop < a.from+len(`"x"`) || !bytes.Equal(data[:a.from], a.data[:a.from]) || !bytes.Equal(data[stop:], a.data[a.to:]) {
		return frame{}, false
	}
	text := data[a.from:stop]
	if !isPlain(text) {
		return frame{}, false
	}
	if a.thought {
		return frame{reasoning: text}, true
	}
	return frame{content: text}, true
}

// isPlain reports whether b is a JSON string without escapes.
func isPlain(b []byte) bool {
	last := len(b) - 1
	if b[0] != '"' || b[last] != '"' {
		return false
	}
	for _, c := range b[1:last] {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
