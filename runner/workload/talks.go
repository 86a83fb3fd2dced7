package workload

import (
	"fmt"
	"time"

	"sweetspot/schema"
)

// talks are conversations of several turns: the workload sessions. Turns, lengths and delays are equal across trials; the text is not.
type talks struct {
	writer                       *writer
	turns, prompt, output, think Distribution
	recorded                     bool  // later turns carry made-up answers
	prefix                       int64 // tokens that all conversations share
	scale                        Scale
	lengths                      key
}

func newTalks(spec schema.Sessions, w *writer, cal Calibration) *Source {
	w.sharePrefix(spec.SharedPrefixTokens, cal)
	scale := cal.Words.orEstimate(shuffledWords{}, w)
	t := &talks{
		writer: w, turns: distributionOf(spec.Turns), prompt: distributionOf(spec.PromptTokens), output: distributionOf(spec.OutputTokens),
		think: distributionOf(spec.ThinkTime), recorded: spec.History == "recorded", prefix: spec.SharedPrefixTokens, scale: scale,
		lengths: w.seed.lengths(),
	}
	return &Source{sessions: t, writer: w, probe: scale}
}

func (t *talks) session(at place) (*Session, error) {
	random := t.lengths.stream(at)
	count := max(1, t.turns.draw(random))
	if count > mostTurns {
		return nil, fmt.Errorf("making session %d: it has more than %d turns", at>>phaseBits, mostTurns)
	}
	session := &Session{}
	var h history
	var made []int64 // words of made-up answers
	for i := range count {
		var delay time.Duration
		if i > 0 {
			delay = time.Duration(t.think.draw(random)) * time.Millisecond
		}
		words, asked := t.say(random, place(mix(uint64(at)+1)+uint64(i)), i == 0)
		h = h.with(words)
		session.Turns = append(session.Turns, Turn{Delay: delay, Build: t.build(h, made, asked, i+1 < count)})
		made = append(made[:len(made):len(made)], t.scale.wordsOf(asked.output))
	}
	return session, nil
}

// say draws what a turn says and how long its answer may be. The first turn asks for its length; what later ones add is as near as the rate of words
// tells.
func (t *talks) say(random *stream, at place, opens bool) (said, tokens) {
	added, asked := max(1, t.prompt.draw(random)), tokens{output: max(1, t.output.draw(random))}
	if opens {
		asked.prompt = t.prefix + added
		return said{at: at, size: t.scale.lengthOf(asked.prompt), opens: true}, asked
	}
	return said{at: at, size: length{words: t.scale.wordsOf(added)}}, asked
}

// build makes the request of the turn that ends h.
func (t *talks) build(h history, made []int64, asked tokens, wanted bool) func([]Answer) (Request, error) {
	return func(answers []Answer) (Request, error) {
		if t.recorded {
			answers = t.answers(h, made)
		}
		request := t.writer.conversation(h, answers, asked)
		request.WantText = wanted && !t.recorded
		return request, nil
	}
}

// answers are made-up ones.
func (t *talks) answers(h history, made []int64) []Answer {
	answers := make([]Answer, len(made))
	for i, words := range made {
		answers[i] = t.writer.madeUpAnswer(h[i].at, words)
	}
	return answers
}
