package workload

import (
	"fmt"
	"math"
	"time"

	"sweetspot/schema"
)

// TreeShape is how generated session trees look: agents that talk in turns and fork sub-agents.
//
// Shapes, lengths and delays are equal across trials; the text is not. A share is a percentage.
type TreeShape struct {
	Turns        Distribution `json:"turns"`         // of a session, root or fork; at least 1
	PromptTokens Distribution `json:"prompt_tokens"` // that a turn adds to the conversation; at least 1
	OutputTokens Distribution `json:"output_tokens"` // at most, of each answer; at least 1
	ThinkTime    Distribution `json:"think_time"`    // milliseconds before each turn but a session's first
	Depth        int64        `json:"depth"`         // levels of forks below the root; 0: none fork
	ForkWidth    Distribution `json:"fork_width"`    // forks that a turn starts; where there are levels left
	InheritShare int64        `json:"inherit_share"` // of forks that go on with the conversation; the others start afresh
	JoinShare    int64        `json:"join_share"`    // of turns behind a turn that forked, which wait for all forks so far
}

// ShapeOf is the shape that a preset asks for. Its shares are taken to the nearest percentage.
func ShapeOf(t schema.Tree) TreeShape {
	return TreeShape{
		Turns: distributionOf(t.Turns), PromptTokens: distributionOf(t.PromptTokens), OutputTokens: distributionOf(t.OutputTokens),
		ThinkTime: distributionOf(t.ThinkTime), Depth: t.Depth, ForkWidth: distributionOf(t.ForkWidth),
		InheritShare: int64(math.Round(100 * t.InheritShare)), JoinShare: int64(math.Round(100 * t.JoinShare)),
	}
}

func distributionOf(d schema.Distribution) Distribution {
	made := Distribution{Constant: d.Constant, Uniform: (*Range)(d.Uniform), Normal: (*Spread)(d.Normal), Lognormal: (*Spread)(d.Lognormal)}
	for _, w := range d.Weighted {
		made.Weighted = append(made.Weighted, Weighted(w))
	}
	return made
}

// mostTurns bounds a tree, so that a shape that grows without bound is an error and not a full memory.
const mostTurns = 10_000

func (s TreeShape) check() error {
	for _, field := range []struct {
		name string
		d    Distribution
	}{
		{"turns", s.Turns}, {"prompt_tokens", s.PromptTokens}, {"output_tokens", s.OutputTokens}, {"think_time", s.ThinkTime},
		{"fork_width", s.ForkWidth},
	} {
		if err := field.d.check(); err != nil {
			return fmt.Errorf("tree: %s: %w", field.name, err)
		}
	}
	if s.Depth < 0 || s.InheritShare < 0 || s.InheritShare > 100 || s.JoinShare < 0 || s.JoinShare > 100 {
		return fmt.Errorf("tree: depth must be at least 0, inherit_share and join_share from 0 to 100")
	}
	return nil
}

// NewTree gives a source of generated session trees; spec.Workload is not looked at. Later turns of a conversation carry what was said and
// answered before. The first request of a conversation has the length that its shape says, nonce and template included, as near as cal's rate
// tells; a later one says 0 for its prompt tokens, which hang on the answers.
func NewTree(shape TreeShape, spec schema.Spec, seed Seed, cal Calibration) (*Source, error) {
	if err := shape.check(); err != nil {
		return nil, err
	}
	w, err := newWriter(spec, seed, wholeNonce)
	if err != nil {
		return nil, err
	}
	scale := cal.Words.orEstimate(shuffledWords{}, w)
	return &Source{sessions: &trees{shape: shape, writer: w, scale: scale, lengths: seed.lengths()}, writer: w, probe: scale}, nil
}

type trees struct {
	shape   TreeShape
	writer  *writer
	scale   Scale
	lengths key
}

func (t *trees) session(at place) (*Session, error) {
	g := &grower{trees: t, at: at, random: t.lengths.stream(at)}
	session := g.grow(nil, t.shape.Depth)
	if g.turns > mostTurns {
		return nil, fmt.Errorf("making session %d: its tree has more than %d turns", at>>phaseBits, mostTurns)
	}
	return session, nil
}

// grower draws one tree.
type grower struct {
	*trees
	at     place
	random *stream
	turns  int64 // drawn so far, in the whole tree
}

// grow draws a session that goes on with h and may fork down to depth levels. It stops short where the tree has grown too large.
func (g *grower) grow(h history, depth int64) *Session {
	count := max(1, g.shape.Turns.draw(g.random))
	session := &Session{}
	var running []*Fork // of earlier turns, that no turn waits for yet
	for i := int64(0); i < count && g.turns <= mostTurns; i++ {
		var delay time.Duration
		if i > 0 {
			delay = time.Duration(g.shape.ThinkTime.draw(g.random)) * time.Millisecond
		}
		words, asked := g.say(len(h) == 0)
		h = h.with(words)
		forks := g.fork(h, depth)
		turn := g.writer.turn(h, delay, i+1 < count || inherited(forks), asked, g.scale.wordsOf(asked.output))
		turn.Forks = forks
		if len(running) > 0 && g.happens(g.shape.JoinShare) {
			for _, fork := range running {
				fork.JoinAt = int(i)
			}
			running = nil
		}
		for n := range forks {
			running = append(running, &forks[n])
		}
		session.Turns = append(session.Turns, turn)
	}
	return session
}

// say draws what the user says in a turn and how long the answer may be.
func (g *grower) say(opens bool) (said, tokens) {
	g.turns++
	added := max(1, g.shape.PromptTokens.draw(g.random))
	asked := tokens{output: max(1, g.shape.OutputTokens.draw(g.random))}
	at := place(mix(uint64(g.at)+1) + uint64(g.turns)) // of this turn alone, as good as surely
	if opens {
		asked.prompt = added
		return said{at: at, size: g.scale.lengthOf(added), opens: true}, asked
	}
	return said{at: at, size: length{words: g.scale.wordsOf(added)}}, asked
}

// fork draws the forks of a turn that ends h.
func (g *grower) fork(h history, depth int64) []Fork {
	if depth == 0 {
		return nil
	}
	var forks []Fork
	for range g.shape.ForkWidth.draw(g.random) {
		if g.turns > mostTurns {
			break
		}
		var begun history
		inherits := g.happens(g.shape.InheritShare)
		if inherits {
			begun = h
		}
		forks = append(forks, Fork{Session: g.grow(begun, depth-1), Inherits: inherits})
	}
	return forks
}

func (g *grower) happens(share int64) bool { return int64(g.random.below(100)) < share }

func inherited(forks []Fork) bool {
	for _, fork := range forks {
		if fork.Inherits {
			return true
		}
	}
	return false
}
