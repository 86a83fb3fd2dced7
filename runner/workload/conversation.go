package workload

import "time"

// said is what the user says in a turn of a generated conversation. The text is made from it whenever a request needs it.
type said struct {
	at    place // of the words and of the nonce
	size  length
	opens bool // begins a conversation, and so has a nonce
}

// history is what the user said from the beginning of a conversation up to a turn.
type history []said

// with is h and one turn more; it shares nothing with what others add to h.
func (h history) with(s said) history { return append(h[:len(h):len(h)], s) }

// request writes the request of the last turn of h: all that the user said, and the service's answers to all but that.
func (w *writer) conversation(h history, answers []Answer, asked tokens) Request {
	room := int64(0)
	for i, s := range h {
		room += s.size.words * bytesPerWord
		if i > 0 {
			room += int64(len(answers[i-1].Text))
		}
	}
	return w.request(func(b []byte) []byte {
		for i, s := range h {
			if i > 0 {
				b = w.encoder.next(b, "assistant")
				b = append(b, jsonSafe(answers[i-1].Text)...)
				b = w.encoder.next(b, "user")
			}
			if s.opens {
				b = w.opening(b, s.at)
			}
			b = shuffledWords{}.append(b, s.size, w.text.stream(s.at))
		}
		return b
	}, room, asked)
}

// turn is the turn that ends h, and waits for the answers before it.
func (w *writer) turn(h history, delay time.Duration, wantText bool, asked tokens) Turn {
	return Turn{Delay: delay, Build: func(answers []Answer) (Request, error) {
		request := w.conversation(h, answers, asked)
		request.WantText = wantText
		return request, nil
	}}
}
