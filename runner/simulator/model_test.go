package simulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// flat is a small configuration whose steps all take 10 ms.
func flat() Config {
	return Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 256, BlockSize: 16, NumGPUBlocks: 64, EnablePrefixCaching: true,
		EnableChunkedPrefill: true, StreamInterval: 1, Cost: Cost{Step: 10 * time.Millisecond}}
}

func profile(t *testing.T, name string) Config {
	t.Helper()
	for _, p := range Profiles() {
		if p.Name == name {
			return p.Config
		}
	}
	t.Fatalf("no profile %q", name)
	return Config{}
}

// sequenceOf is a sequence whose prompt of n tokens shares nothing with that of another id.
func sequenceOf(id, n, most int) *sequence {
	s := &sequence{most: most, answer: answer{seed: uint64(id)}, starts: []int{0}}
	for i := range n {
		s.prompt = append(s.prompt, uint32(id)<<16|uint32(i))
	}
	return s
}

// closedLoop keeps c requests in flight on virtual time until n have finished.
func closedLoop(cfg Config, c, n, prompt, output int) (tokensPerSecond float64, medianTTFT time.Duration) {
	m := newModel(cfg)
	var now time.Duration
	began := map[*sequence]time.Duration{}
	var first []time.Duration
	issued, done := 0, 0
	issue := func() {
		if issued < n {
			issued++
			s := sequenceOf(issued, prompt, output)
			began[s] = now
			m.add(s)
		}
	}
	for range c {
		issue()
	}
	for done < n {
		d, _ := m.plan()
		now += d
		m.finish(func(s *sequence) {
			if s.generated == 1 {
				first = append(first, now-began[s])
			}
			if s.state == finished {
				done++
			}
		})
		for done > issued-c && issued < n {
			issue()
		}
	}
	slices.Sort(first)
	return float64(m.totals.generated) / now.Seconds(), first[len(first)/2]
}

func TestThroughputReachesAPlateauAndTTFTACliff(t *testing.T) {
	for _, name := range []string{"small-gpu", "large-gpu", "cpu"} {
		t.Run(name, func(t *testing.T) {
			cfg := profile(t, name)
			seats := cfg.MaxNumSeqs
			rate := func(c int) float64 { r, _ := closedLoop(cfg, c, 4*c, 256, 128); return r }
			ttft := func(c int) time.Duration { _, d := closedLoop(cfg, c, 4*c, 256, 128); return d }
			if one, full := rate(1), rate(seats); full < 5*one {
				t.Errorf("%.0f tok/s with every seat taken, %.0f with one: batching brought too little", full, one)
			}
			if full, over := rate(seats), rate(2*seats); over > 1.1*full {
				t.Errorf("%.0f tok/s at %d, %.0f at %d: no plateau", full, seats, over, 2*seats)
			}
			if full, over := ttft(seats), ttft(2*seats); over < 3*full {
				t.Errorf("median TTFT %v at %d, %v at %d: no cliff", full, seats, over, 2*seats)
			}
		})
	}
}

// The figures are vLLM's on two CPU cores with the model of two layers, 200 tokens in and 100 out: measured with its own benchmark.
func TestTheCPUProfileIsNearWhatVLLMDid(t *testing.T) {
	for _, want := range []struct {
		level int
		rate  float64
	}{{1, 135}, {4, 434}, {16, 1078}, {32, 1376}} {
		t.Run(fmt.Sprint(want.level), func(t *testing.T) {
			got, ttft := closedLoop(profile(t, "cpu"), want.level, max(20, 6*want.level), 200, 100)
			t.Logf("%.0f tok/s, median TTFT %v", got, ttft)
			if got < 0.7*want.rate || got > 1.3*want.rate {
				t.Errorf("%.0f tok/s, want within 30 %% of %.0f", got, want.rate)
			}
		})
	}
}

func TestTheProfilesDoWhatTheySay(t *testing.T) {
	for _, want := range []struct {
		name           string
		prompt, output int
		one, full      float64
	}{{"large-gpu", 256, 128, 150, 6200}, {"small-gpu", 256, 128, 31, 550}, {"cpu", 200, 100, 135, 1300}} {
		cfg := profile(t, want.name)
		one, _ := closedLoop(cfg, 1, 20, want.prompt, want.output)
		full, _ := closedLoop(cfg, cfg.MaxNumSeqs, 6*cfg.MaxNumSeqs, want.prompt, want.output)
		if one < 0.95*want.one || one > 1.05*want.one || full < 0.95*want.full || full > 1.05*want.full {
			t.Errorf("%s: %.0f and %.0f tok/s, says %.0f and %.0f", want.name, one, full, want.one, want.full)
		}
	}
}

func TestALongPromptIsPrefilledInPartsWhileOthersDecode(t *testing.T) {
	m := newModel(flat())
	short, long := sequenceOf(1, 8, 20), sequenceOf(2, 200, 2)
	step := func() {
		if _, ok := m.plan(); !ok {
			t.Fatal("nothing to do")
		}
	}
	m.add(short)
	step()
	m.finish(func(*sequence) {})
	m.add(long)
	var parts []int
	for long.generated == 0 {
		step()
		if short.scheduled != 1 {
			t.Fatalf("the short one computes %d tokens beside the long prompt, want 1", short.scheduled)
		}
		parts = append(parts, long.scheduled)
		m.finish(func(*sequence) {})
	}
	if diff := cmp.Diff([]int{63, 63, 63, 11}, parts); diff != "" {
		t.Errorf("parts of the long prompt (-want +got):\n%s", diff)
	}
}

func TestWithoutChunkedPrefillAPromptWaitsForAStepThatHoldsItWhole(t *testing.T) {
	cfg := flat()
	cfg.EnableChunkedPrefill, cfg.MaxModelLen = false, 64
	m := newModel(cfg)
	one, two := sequenceOf(1, 40, 2), sequenceOf(2, 40, 2)
	m.add(one)
	m.add(two)
	m.plan()
	if one.scheduled != 40 || two.scheduled != 0 {
		t.Errorf("first step computes %d and %d tokens, want 40 and 0", one.scheduled, two.scheduled)
	}
	m.finish(func(*sequence) {})
	m.plan()
	if one.scheduled != 1 || two.scheduled != 40 {
		t.Errorf("second step computes %d and %d tokens, want 1 and 40", one.scheduled, two.scheduled)
	}
}

func TestNoMoreThanMaxNumSeqsRun(t *testing.T) {
	m := newModel(flat())
	for id := range 6 {
		m.add(sequenceOf(id, 4, 3))
	}
	m.plan()
	if len(m.running) != 4 || len(m.waiting) != 2 {
		t.Errorf("%d run and %d wait, want 4 and 2", len(m.running), len(m.waiting))
	}
}

func TestTheOneAdmittedLastGivesItsBlocksAndComputesAnew(t *testing.T) {
	cfg := flat()
	cfg.NumGPUBlocks, cfg.MaxModelLen = 16, 256
	m := newModel(cfg)
	early, late, last := sequenceOf(1, 60, 190), sequenceOf(2, 60, 190), sequenceOf(3, 200, 1)
	for _, s := range []*sequence{early, late, last} {
		m.add(s)
	}
	var order []*sequence
	for len(order) < 3 {
		if _, ok := m.plan(); !ok {
			t.Fatal("nothing to do, and not all have finished")
		}
		m.finish(func(s *sequence) {
			if s.state == finished {
				order = append(order, s)
			}
		})
	}
	if order[0] != early || order[1] != late {
		t.Error("the sequences did not finish in the order in which they came")
	}
	if m.totals.preempted == 0 {
		t.Error("nothing was preempted, though two sequences need 32 of 16 blocks")
	}
	if early.generated != 190 || late.generated != 190 || m.totals.generated != 381 {
		t.Errorf("generated %d and %d, %d in all; want 190, 190, 381", early.generated, late.generated, m.totals.generated)
	}
	if late.cached != 0 || m.totals.queried != 320 || m.totals.prompted != 320 {
		t.Errorf("%d tokens cached, %d looked up, %d prompted: what it finds again after a preemption counts as cached", late.cached,
			m.totals.queried, m.totals.prompted)
	}
}

func runAlone(m *model, s *sequence) *sequence {
	m.add(s)
	for s.state != finished {
		m.plan()
		m.finish(func(*sequence) {})
	}
	return s
}

func TestThePrefixCacheServesWholeBlocks(t *testing.T) {
	m := newModel(flat())
	if s := runAlone(m, sequenceOf(1, 70, 2)); s.cached != 0 {
		t.Errorf("the first request had %d cached tokens", s.cached)
	}
	if s := runAlone(m, sequenceOf(1, 70, 2)); s.cached != 64 {
		t.Errorf("the same prompt of 70 tokens had %d cached tokens, want 64: four blocks", s.cached)
	}
	if s := runAlone(m, sequenceOf(1, 64, 2)); s.cached != 48 {
		t.Errorf("a prompt of 64 tokens had %d cached tokens, want 48: its last token is always computed", s.cached)
	}
	if got := (totals{queried: m.totals.queried, hit: m.totals.hit}); got != (totals{queried: 204, hit: 112}) {
		t.Errorf("%d tokens looked up and %d found, want 204 and 112", got.queried, got.hit)
	}
	salted := sequenceOf(1, 70, 2)
	salted.salt = 7
	if s := runAlone(m, salted); s.cached != 0 {
		t.Errorf("the same prompt with another salt had %d cached tokens", s.cached)
	}
	m.pool.forget()
	if s := runAlone(m, sequenceOf(1, 70, 2)); s.cached != 0 {
		t.Errorf("after a reset the prompt had %d cached tokens", s.cached)
	}
}

func TestWithoutPrefixCachingNothingIsCached(t *testing.T) {
	cfg := flat()
	cfg.EnablePrefixCaching = false
	m := newModel(cfg)
	runAlone(m, sequenceOf(1, 70, 2))
	if s := runAlone(m, sequenceOf(1, 70, 2)); s.cached != 0 || m.totals.queried != 0 {
		t.Errorf("%d cached tokens, %d looked up; want none", s.cached, m.totals.queried)
	}
}

func TestOldBlocksAreForgottenFirst(t *testing.T) {
	cfg := flat()
	cfg.NumGPUBlocks = 16
	m := newModel(cfg)
	for id := range 3 {
		runAlone(m, sequenceOf(id, 100, 1)) // 7 blocks each: of the first prompt the 5 at its end are taken
	}
	var cached []int
	for id := range 3 {
		cached = append(cached, len(m.lookup(sequenceOf(id, 100, 1))))
	}
	if diff := cmp.Diff([]int{2, 6, 6}, cached); diff != "" {
		t.Errorf("blocks of the three prompts that are known (-want +got):\n%s", diff)
	}
}

// A conversation's next prompt holds the answer before it, which is in blocks already.
func TestTheNextTurnFindsTheAnswerInTheCache(t *testing.T) {
	m := newModel(flat())
	turn := func(body string) *sequence {
		r, bad := decodeRequest([]byte(body), apiChat, "m", 256)
		if bad != nil {
			t.Fatal(bad)
		}
		s := &sequence{prompt: r.prompt, salt: r.salt, answer: answerOf(0, r.prompt), starts: []int{0}, most: r.maxTokens}
		return runAlone(m, s)
	}
	question := `{"role":"user","content":"` + strings.Repeat("why ", 30) + `"}`
	first := turn(`{"messages":[` + question + `],"max_tokens":60}`)
	text := string(first.answer.appendText(nil, 0, 60, true))
	second := turn(`{"messages":[` + question + `,{"role":"assistant","content":"` + text + `"},{"role":"user","content":"more"}],"max_tokens":2}`)
	if want := (first.length() - 1) / 16 * 16; second.cached != want {
		t.Errorf("the second turn had %d cached tokens, want %d of the %d of the first turn and its answer", second.cached, want, first.length())
	}
}

// check holds what must be true of the model between any two of its calls.
func check(t *rapid.T, m *model) {
	holders := make([]int32, len(m.pool.blocks))
	for _, s := range m.running {
		if len(s.blocks)*m.pool.size < s.computed+s.scheduled {
			t.Fatalf("%d blocks for %d tokens", len(s.blocks), s.computed+s.scheduled)
		}
		for _, i := range s.blocks {
			holders[i]++
		}
	}
	free := 0
	for i, b := range m.pool.blocks {
		if b.holders != holders[i] {
			t.Fatalf("block %d has %d holders, counts %d", i, holders[i], b.holders)
		}
		if b.holders == 0 {
			free++
		}
	}
	listed := 0
	for i := m.pool.head; i != none; i = m.pool.blocks[i].next {
		listed++
	}
	if free != m.pool.free || free != listed {
		t.Fatalf("%d blocks are free, %d are listed, %d counted", free, listed, m.pool.free)
	}
	for _, s := range m.waiting {
		if s.computed != 0 || s.blocks != nil || s.scheduled != 0 {
			t.Fatalf("a waiting sequence has %d tokens computed in %d blocks", s.computed, len(s.blocks))
		}
	}
	if len(m.running) > m.cfg.MaxNumSeqs {
		t.Fatalf("%d run, more than %d", len(m.running), m.cfg.MaxNumSeqs)
	}
}

func TestEverySequenceEndsAndNoBlockIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			MaxNumSeqs: rapid.IntRange(1, 5).Draw(t, "seqs"), MaxNumBatchedTokens: rapid.IntRange(1, 40).Draw(t, "budget"), MaxModelLen: 40,
			BlockSize: rapid.IntRange(1, 9).Draw(t, "block"), EnablePrefixCaching: rapid.Bool().Draw(t, "prefix"), EnableChunkedPrefill: true,
		}
		cfg.NumGPUBlocks = (40+cfg.BlockSize-1)/cfg.BlockSize + rapid.IntRange(0, 20).Draw(t, "blocks")
		m := newModel(cfg)
		var all []*sequence
		for range rapid.IntRange(1, 60).Draw(t, "turns") {
			if rapid.Bool().Draw(t, "add") {
				prompt := rapid.IntRange(1, 39).Draw(t, "prompt")
				s := sequenceOf(rapid.IntRange(0, 3).Draw(t, "id"), prompt, rapid.IntRange(1, 40-prompt).Draw(t, "most"))
				all = append(all, s)
				m.add(s)
			}
			_, ok := m.plan()
			check(t, m)
			spent := 0
			for _, s := range m.running {
				spent += s.scheduled
			}
			if spent > cfg.MaxNumBatchedTokens || ok != (spent > 0) {
				t.Fatalf("a step of %d tokens, with a budget of %d", spent, cfg.MaxNumBatchedTokens)
			}
			if len(all) > 0 && rapid.IntRange(0, 9).Draw(t, "give up") == 0 {
				m.remove(rapid.SampledFrom(all).Draw(t, "which"))
				check(t, m)
			}
			m.finish(func(*sequence) {})
			check(t, m)
		}
		for steps := 0; len(m.waiting)+len(m.running) > 0; steps++ {
			if steps > 60*80*40 {
				t.Fatal("the model does not come to an end")
			}
			m.plan()
			m.finish(func(*sequence) {})
		}
		for _, s := range all {
			if s.state == finished && s.generated != s.most || s.state != finished && s.state != removed {
				t.Fatalf("state %d with %d of %d tokens", s.state, s.generated, s.most)
			}
		}
		if m.pool.used() != 0 {
			t.Fatalf("%d blocks are held by nobody", m.pool.used())
		}
	})
}

func TestTheSameSeedGivesTheSameStepsAndAnotherOthers(t *testing.T) {
	steps := func(seed int64) (lengths []time.Duration) {
		cfg := profile(t, "small-gpu")
		cfg.Seed = seed
		m := newModel(cfg)
		for id := range 5 {
			m.add(sequenceOf(id, 100*id+10, 20))
		}
		for {
			d, ok := m.plan()
			if !ok {
				return lengths
			}
			lengths = append(lengths, d)
			m.finish(func(*sequence) {})
		}
	}
	if diff := cmp.Diff(steps(1), steps(1)); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if cmp.Equal(steps(1), steps(2)) {
		t.Error("another seed gave the same steps")
	}
}
