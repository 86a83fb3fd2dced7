package simulator

import (
	"slices"
	"time"
)

// sequence is one request inside the model.
type sequence struct {
	prompt []uint32
	salt   uint64 // hash of the request's cache_salt: requests of different salts share no block
	answer answer
	starts []int // tokens of the answer that begin a section, without a blank before them
	most   int   // tokens to generate, at least 1
	job    *job  // that it belongs to; nothing to the model

	state     state
	computed  int // tokens whose keys and values are in blocks
	scheduled int // tokens that the step under way computes
	generated int
	cached    int // tokens of the prompt that the prefix cache had when the sequence was first admitted; -1 before
	blocks    []int32
	prefixes  []uint64 // hashes of the full blocks' prefixes, as far as they were needed
}

type state uint8

const (
	waiting state = iota
	running
	finished // all tokens are generated
	removed  // given up: its client has gone
)

// length is the number of tokens so far: the prompt and what was generated.
func (s *sequence) length() int { return len(s.prompt) + s.generated }

// tokens are those from from to to, for hashing.
func (s *sequence) tokens(from, to int) []uint32 {
	if to <= len(s.prompt) {
		return s.prompt[from:to]
	}
	mixed := append([]uint32{}, s.prompt[min(from, len(s.prompt)):]...)
	for i := max(from-len(s.prompt), 0); i < to-len(s.prompt); i++ {
		mixed = append(mixed, s.answer.token(i, slices.Contains(s.starts, i)))
	}
	return mixed
}

// batch is what one step computes.
type batch struct {
	prefillTokens int // of prompts, and of what is recomputed
	decodeSeqs    int // sequences that compute their latest token only
	contextTokens int // that those look back on
}

// model is continuous batching as vLLM's scheduler does it. Each step spends a budget of tokens: first on the sequences that run, in the order
// they were admitted, then on waiting ones, first come first served. A sequence that runs and finds no free block takes those of the one
// admitted last, which waits again, before all others, and computes its tokens anew.
//
// It is a function of what is added and removed between its steps, and of nothing else: neither clock nor chance.
type model struct {
	cfg     Config
	pool    *pool
	waiting []*sequence
	running []*sequence
	steps   int64
	totals  totals
	scratch []byte
}

// totals are what the model has done since it began.
type totals struct{ queried, hit, preempted, prompted, generated int64 }

func newModel(cfg Config) *model {
	return &model{cfg: cfg, pool: newPool(cfg.NumGPUBlocks, cfg.BlockSize, cfg.EnablePrefixCaching)}
}

// add puts a sequence at the end of the queue. The prompt and what is to be generated fit max_model_len.
func (m *model) add(s *sequence) {
	s.state, s.cached = waiting, -1
	m.waiting = append(m.waiting, s)
}

// remove gives a sequence up, wherever it is.
func (m *model) remove(s *sequence) {
	switch s.state {
	case waiting:
		m.waiting = slices.DeleteFunc(m.waiting, func(o *sequence) bool { return o == s })
	case running:
		m.leave(s)
	default:
		return
	}
	s.state = removed
}

func (m *model) leave(s *sequence) {
	at := slices.Index(m.running, s)
	m.running = slices.Delete(m.running, at, at+1)
	m.pool.release(s.blocks)
	s.blocks, s.scheduled = nil, 0
}

// plan decides the next step and how long it takes. It is false where there is nothing to do.
func (m *model) plan() (time.Duration, bool) {
	var b batch
	budget, full := m.planRunning(m.cfg.MaxNumBatchedTokens, &b)
	if !full {
		m.admit(budget, &b)
	}
	if b.prefillTokens+b.decodeSeqs == 0 {
		return 0, false
	}
	m.steps++
	return m.cfg.Cost.of(m.cfg.Seed, m.steps, b), true
}

// planRunning spends budget on the sequences that run. It returns what is left, and whether the cache was too full for all of them.
func (m *model) planRunning(budget int, b *batch) (left int, full bool) {
	for i := 0; i < len(m.running) && budget > 0; i++ {
		s := m.running[i]
		n := min(s.length()-s.computed, budget)
		for s.state == running && !m.grow(s, s.computed+n) {
			full = true
			m.preempt(m.running[len(m.running)-1]) // s itself, where it is the last: one alone always fits
		}
		if s.state != running {
			break
		}
		m.schedule(s, n, b)
		budget -= n
	}
	return budget, full
}

// admit spends budget on waiting sequences as long as there are seats and blocks.
func (m *model) admit(budget int, b *batch) {
	for len(m.waiting) > 0 && len(m.running) < m.cfg.MaxNumSeqs && budget > 0 {
		s := m.waiting[0]
		hit := m.lookup(s)
		n := s.length() - len(hit)*m.pool.size
		if n > budget && !m.cfg.EnableChunkedPrefill {
			return
		}
		n = min(n, budget)
		for _, i := range hit {
			m.pool.hold(i)
		}
		s.blocks, s.computed = hit, len(hit)*m.pool.size
		if !m.grow(s, s.computed+n) {
			m.pool.release(s.blocks)
			s.blocks, s.computed = nil, 0
			return
		}
		m.waiting = m.waiting[1:]
		m.running = append(m.running, s)
		s.state = running
		m.count(s)
		m.schedule(s, n, b)
		budget -= n
	}
}

// count notes what the prefix cache had for a sequence that was just admitted.
func (m *model) count(s *sequence) {
	if s.cached >= 0 {
		return // it was preempted: what it finds now are its own blocks
	}
	s.cached = s.computed
	if m.cfg.EnablePrefixCaching {
		m.totals.queried += int64(s.length())
		m.totals.hit += int64(s.cached)
	}
}

// lookup finds the blocks that hold the start of s. The last token is always computed: it gives the next.
func (m *model) lookup(s *sequence) []int32 {
	var hit []int32
	if !m.pool.caching {
		return hit
	}
	for k := 0; (k+1)*m.pool.size < s.length(); k++ {
		i, known := m.pool.byPrefix[m.prefix(s, k)]
		if !known {
			break
		}
		hit = append(hit, i)
	}
	return hit
}

// prefix is the hash of s up to the end of its k-th block, which is full.
func (m *model) prefix(s *sequence, k int) uint64 {
	for len(s.prefixes) <= k {
		before := s.salt
		if n := len(s.prefixes); n > 0 {
			before = s.prefixes[n-1]
		}
		from := len(s.prefixes) * m.pool.size
		var h uint64
		h, m.scratch = chain(before, s.tokens(from, from+m.pool.size), m.scratch)
		s.prefixes = append(s.prefixes, h)
	}
	return s.prefixes[k]
}

// grow gives s the blocks for its first n tokens. It is false, and nothing is given, where there are too few.
func (m *model) grow(s *sequence, n int) bool {
	more := (n+m.pool.size-1)/m.pool.size - len(s.blocks)
	if more > m.pool.free {
		return false
	}
	for range more {
		s.blocks = append(s.blocks, m.pool.take())
	}
	return true
}

// schedule adds n tokens of s to the step. Its full blocks are known from now on, so that the same prompt in the same step finds them.
func (m *model) schedule(s *sequence, n int, b *batch) {
	if s.generated > 0 && n == 1 && s.computed == s.length()-1 {
		b.decodeSeqs++
		b.contextTokens += s.length()
	} else {
		b.prefillTokens += n
	}
	s.scheduled = n
	if !m.pool.caching {
		return
	}
	for k := s.computed / m.pool.size; k < (s.computed+n)/m.pool.size; k++ {
		m.pool.remember(s.blocks[k], m.prefix(s, k))
	}
}

// preempt takes everything from a sequence that runs and puts it at the head of the queue.
func (m *model) preempt(s *sequence) {
	m.leave(s)
	s.computed, s.state = 0, waiting
	m.waiting = slices.Insert(m.waiting, 0, s)
	m.totals.preempted++
}

// finish ends the step that was planned. Each sequence that has all its tokens computed generates one; generated is called for it, in the
// order in which they run.
func (m *model) finish(generated func(*sequence)) {
	kept := m.running[:0]
	for _, s := range m.running {
		s.computed += s.scheduled
		ready := s.scheduled > 0 && s.computed == s.length()
		s.scheduled = 0
		if ready {
			m.generate(s)
			generated(s)
		}
		if s.state == running {
			kept = append(kept, s)
		}
	}
	clear(m.running[len(kept):])
	m.running = kept
}

func (m *model) generate(s *sequence) {
	if s.generated == 0 {
		m.totals.prompted += int64(len(s.prompt))
	}
	s.generated++
	m.totals.generated++
	if s.generated == s.most {
		m.pool.release(s.blocks)
		s.blocks, s.state = nil, finished
	}
}
