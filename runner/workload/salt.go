package workload

import "strconv"

// salt isolates prompts without a word in them: each session's requests have a text of their own in the field cache_salt, by which the service keeps
// its cached prefixes apart.
type salt struct{ text string }

// newSalt gives the salt of a source: no other run, attempt, trial, point or repeat has it.
func newSalt(seed Seed) *salt {
	key := seed.nonces()
	return &salt{jsonSafe(seed.Run) + "-" + strconv.FormatUint(key.high, 16) + "-"}
}

// season salts each request of a session tree; nil salts none.
func (s *salt) season(session *Session, at place) {
	if s == nil {
		return
	}
	for i := range session.Turns {
		turn := &session.Turns[i]
		turn.Build = s.salting(turn.Build, at)
		if turn.Replay != nil {
			turn.Replay.Prefill = s.salting(turn.Replay.Prefill, at)
		}
		for _, fork := range turn.Forks {
			s.season(fork.Session, at)
		}
	}
}

// salting is build with the salt of a place in what it makes; nil stays so.
func (s *salt) salting(build func([]Answer) (Request, error), at place) func([]Answer) (Request, error) {
	if build == nil {
		return nil
	}
	return func(answers []Answer) (Request, error) {
		request, err := build(answers)
		return s.salted(request, at), err
	}
}

// salted is a request with the salt of a place in its body.
func (s *salt) salted(r Request, at place) Request {
	if s == nil || len(r.Body) == 0 {
		return r
	}
	field := `{"cache_salt":"` + s.text + strconv.FormatUint(uint64(at), 16) + `",`
	body := make([]byte, 0, len(field)+len(r.Body)-1)
	r.Body = append(append(body, field...), r.Body[1:]...)
	return r
}
