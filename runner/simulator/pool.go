package simulator

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// pool is the KV cache: blocks that sequences hold, shared where their tokens are the same, and a list of free ones that keep what they held
// until they are taken again, the longest free first.
type pool struct {
	size     int // tokens of a block
	caching  bool
	blocks   []block
	head     int32            // of the free list; none where it is empty
	tail     int32            //
	free     int              // length of that list
	byPrefix map[uint64]int32 // full blocks by the hash of all tokens up to their end
}

type block struct {
	holders    int32
	prev, next int32 // in the free list
	prefix     uint64
	cached     bool // byPrefix leads here
}

const none = int32(-1)

func newPool(blocks, size int, caching bool) *pool {
	p := &pool{size: size, caching: caching, blocks: make([]block, blocks), head: none, tail: none, byPrefix: map[uint64]int32{}}
	for i := range p.blocks {
		p.push(int32(i))
	}
	return p
}

func (p *pool) used() int { return len(p.blocks) - p.free }

// push puts a block at the end of the free list.
func (p *pool) push(i int32) {
	p.blocks[i].prev, p.blocks[i].next = p.tail, none
	if p.tail == none {
		p.head = i
	} else {
		p.blocks[p.tail].next = i
	}
	p.tail = i
	p.free++
}

// unlink takes a block out of the free list, wherever it stands there.
func (p *pool) unlink(i int32) {
	b := &p.blocks[i]
	if b.prev == none {
		p.head = b.next
	} else {
		p.blocks[b.prev].next = b.next
	}
	if b.next == none {
		p.tail = b.prev
	} else {
		p.blocks[b.next].prev = b.prev
	}
	p.free--
}

// hold takes a block that is known by its prefix, for one more holder.
func (p *pool) hold(i int32) {
	if p.blocks[i].holders == 0 {
		p.unlink(i)
	}
	p.blocks[i].holders++
}

// take takes the block that has been free the longest, forgetting what it held. There is one.
func (p *pool) take() int32 {
	i := p.head
	p.unlink(i)
	b := &p.blocks[i]
	if b.cached {
		delete(p.byPrefix, b.prefix)
	}
	*b = block{holders: 1}
	return i
}

// release lets go of the blocks of a sequence, the last first: a prefix's end is forgotten before its start.
func (p *pool) release(blocks []int32) {
	for k := len(blocks) - 1; k >= 0; k-- {
		b := &p.blocks[blocks[k]]
		if b.holders--; b.holders == 0 {
			p.push(blocks[k])
		}
	}
}

// remember makes a full block known by its prefix, unless another is.
func (p *pool) remember(i int32, prefix uint64) {
	if !p.caching || p.blocks[i].cached {
		return
	}
	if _, known := p.byPrefix[prefix]; known {
		return
	}
	p.byPrefix[prefix] = i
	p.blocks[i].cached, p.blocks[i].prefix = true, prefix
}

// forget makes every block unknown. Sequences keep what they hold.
func (p *pool) forget() {
	for _, i := range p.byPrefix {
		p.blocks[i].cached = false
	}
	clear(p.byPrefix)
}

// chain is the hash of a prefix that is longer by tokens. It returns scratch for its next use.
func chain(prefix uint64, tokens []uint32, scratch []byte) (uint64, []byte) {
	scratch = binary.LittleEndian.AppendUint64(scratch[:0], prefix)
	for _, t := range tokens {
		scratch = binary.LittleEndian.AppendUint32(scratch, t)
	}
	return xxhash.Sum64(scratch), scratch
}
