package workload

import (
	"encoding/json"
	"fmt"
	"strings"

	"sweetspot/runner/workload/input"
	"sweetspot/schema"
)

// sharedTalk is a conversation of a file in ShareGPT's form.
type sharedTalk struct {
	system    string // empty where it has none
	exchanges []exchange
}

// exchange is what was asked and what was answered.
type exchange struct{ ask, answer string }

// sharers says who speaks by the names that files of this form have for them.
var sharers = map[string]string{
	"human": "user", "user": "user", "system": "system", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant", "bing": "assistant",
	"bard": "assistant",
}

// parseShareGPT reads {"conversations": [{"from": "human", "value": …}, {"from": "gpt", "value": …}]}. What one of both says in a row is one message. A
// conversation that begins with an answer, or in which nothing is answered, is skipped: what was asked is not known, or what length to ask for.
func parseShareGPT(e input.Entry) (sharedTalk, error) {
	var made sharedTalk
	var fields struct {
		Conversations *[]struct {
			From  string `json:"from"`
			Value string `json:"value"`
		} `json:"conversations"`
	}
	if err := json.Unmarshal(e.Text, &fields); err != nil {
		return made, fmt.Errorf("parsing a conversation: %w", input.Explained(err))
	}
	if fields.Conversations == nil {
		return made, fmt.Errorf("a conversation needs conversations, a list of {from, value}")
	}
	var ask []string
	for i, said := range *fields.Conversations {
		switch who, known := sharers[said.From]; {
		case !known:
			return made, fmt.Errorf("message %d is from %q: it must be from human, gpt or system", i, said.From)
		case strings.TrimSpace(said.Value) == "":
		case who == "system":
			made.system = joined(made.system, said.Value)
		case who == "user":
			ask = append(ask, said.Value)
		case len(ask) > 0:
			made.exchanges, ask = append(made.exchanges, exchange{strings.Join(ask, "\n\n"), said.Value}), nil
		case len(made.exchanges) == 0:
			return made, input.ErrSkipped
		default:
			last := &made.exchanges[len(made.exchanges)-1]
			last.answer = joined(last.answer, said.Value)
		}
	}
	if len(made.exchanges) == 0 {
		return made, input.ErrSkipped
	}
	return made, nil
}

// joined are two texts as paragraphs of one.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n\n" + b
}

// shareGPT asks with the conversations of a file.
type shareGPT struct {
	book   *input.Book[sharedTalk]
	writer *writer
	spec   schema.ShareGPT
}

func (s *shareGPT) session(at place) (*Session, error) {
	talk, err := s.book.At(turned(at, s.book.Len()))
	if err != nil {
		return nil, err
	}
	session := &Session{}
	for i := range talk.exchanges {
		if i > 0 && s.spec.Turns == "first" {
			break
		}
		wanted := s.spec.Turns == "all" && s.spec.History == "live" && i+1 < len(talk.exchanges)
		session.Turns = append(session.Turns, Turn{Build: func(answers []Answer) (Request, error) {
			request := s.request(at, talk, i, answers)
			request.WantText = wanted
			return request, nil
		}})
	}
	return session, nil
}

// request asks the question of an exchange behind the conversation so far.
func (s *shareGPT) request(at place, talk sharedTalk, index int, answers []Answer) Request {
	var messages []plainMessage
	if talk.system != "" {
		messages = append(messages, plainMessage{"system", talk.system})
	}
	for i, e := range talk.exchanges[:index] {
		if s.spec.History == "live" {
			e.answer = answers[i].Text
		}
		messages = append(messages, plainMessage{"user", e.ask}, plainMessage{"assistant", e.answer})
	}
	messages = append(messages, plainMessage{"user", talk.exchanges[index].ask})
	output := s.spec.OutputTokens
	if output == 0 {
		output = lengthOfText(talk.exchanges[index].answer)
	}
	return s.writer.messages(at, messages, output)
}

// bytesPerToken is what a token of running text takes, about, in many languages.
const bytesPerToken = 4

// lengthOfText is about how many tokens a text has.
func lengthOfText(text string) int64 {
	return min(max(1, int64(len(text)+bytesPerToken/2)/bytesPerToken), mostTokens)
}

// messages writes a request of messages, with the nonce of a place in front of the first. Where there are no messages, they are paragraphs of one
// prompt.
func (w *writer) messages(at place, messages []plainMessage, outputTokens int64) Request {
	var b []byte
	for i, m := range messages {
		switch {
		case w.encoder.chat && i > 0:
			b = append(b, "\"},"...)
			fallthrough
		case w.encoder.chat:
			b = append(append(append(b, `{"role":"`...), m.Role...), `","content":"`...)
		case i > 0:
			b = append(b, paragraph...)
		}
		if i == 0 {
			b = w.opening(b, at)
		}
		b = append(b, jsonSafe(m.Content)...)
	}
	if w.encoder.chat {
		return Request{Body: w.encoder.of(append(b, "\"}"...), outputTokens), OutputTokens: outputTokens}
	}
	return w.request(func(into []byte) []byte { return append(into, b...) }, int64(len(b)), tokens{output: outputTokens})
}
