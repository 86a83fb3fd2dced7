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

// turn is the turn that ends h, and waits for the answers before it. Where it is not sent, replyWords words are its answer.
func (w *writer) turn(h history, delay time.Duration, wantText bool, asked tokens, replyWords int64) Turn {
	build := func(asked tokens, wantText bool) func([]Answer) (Request, error) {
		return func(answers []Answer) (Request, error) {
			request := w.conversation(h, answers, asked)
			request.WantText = wantText
			return request, nil
		}
	}
	return Turn{Delay: delay, Build: build(asked, wantText), Replay: &Replay{
		Prefill: build(tokens{prompt: asked.prompt, output: 1}, false),
		Answer:  func() Answer { return w.madeUpAnswer(h[len(h)-1].at, replyWords) },
	}}
}

// madeUpAnswer is an answer to the turn at a place, where there is none of the service: of plain words, which stand the same inside a JSON string and
// outside.
func (w *writer) madeUpAnswer(at place, words int64) Answer {
	random := w.text.stream(place(mix(uint64(at) ^ madeUp)))
	return Answer{Text: string(shuffledWords{}.append(nil, length{words: words}, random))}
}

// madeUp sets the words of made-up answers apart from those of prompts.
const madeUp = 0x6d616465
