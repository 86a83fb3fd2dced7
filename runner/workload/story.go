package workload

import (
	"bytes"
	"strconv"
	"strings"
)

// story is the creative-writing prompt: notes for a work of fiction, and the instruction to write it and keep writing. It is drawn from its own
// key, not from the random numbers that append is given: the same key and length always give the same prompt.
//
// The notes come in parts with their own people and places. Each part begins with one note of each kind; then kinds follow at random. Cutting
// the notes to length leaves the instruction in place.
type story struct {
	key   key
	frame storyFrame
}

// storyFrame is what stands around the notes, safe inside a JSON string.
type storyFrame struct {
	opening string
	words   string // behind the notes and before the fillers
	closing string
}

var (
	storyInFull = storyFrame{
		opening: "Write a long work of fiction from these notes.",
		words:   " ..." + paragraph + "Words to use: window river",
		closing: "." + paragraph + "Now write the story itself in full, scene after scene, and keep writing: " +
			"no summary, no questions, no comment on these notes, no ending.",
	}
	storyInBrief = storyFrame{
		opening: "Write a long story.",
		words:   " ..." + paragraph + "Words to use: river",
		closing: ". Keep writing.",
	}
)

// briefBelow is the prompt length in tokens below which a whole frame would leave too little room for notes.
const briefBelow = 192

// newStory is the story for prompts of promptTokens.
func newStory(seed Seed, promptTokens int64) story {
	if promptTokens < briefBelow {
		return story{seed.fixed(), storyInBrief}
	}
	return story{seed.fixed(), storyInFull}
}

// notesInPart is how many notes share their people and places.
const notesInPart = 24

func (s story) constantWords() int64 {
	return int64(len(strings.Fields(s.frame.opening + s.frame.words + s.frame.closing)))
}

func (story) deck() int64 { return 0 }

func (s story) append(b []byte, size length, _ *stream) []byte {
	b = append(b, s.frame.opening...)
	notes := &teller{random: s.key.stream(0)}
	for left := size.words; left > 0; {
		b = append(b, `\n`...)
		for i, word := range bytes.Split(notes.next(), []byte(" ")) {
			if left == 0 {
				break
			}
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, word...)
			left--
		}
	}
	b = append(b, s.frame.words...)
	b = appendFillers(b, size.fillers)
	return append(b, s.frame.closing...)
}

// teller tells notes, one after the other.
type teller struct {
	random *stream
	told   int // notes, part headings included
	cast   [4]string
	places [2]string
	note   []byte
}

// next gives the next note, in one line; it is overwritten by the next call.
func (t *teller) next() []byte {
	t.note = t.note[:0]
	inPart := t.told % notesInPart
	if inPart == 0 {
		t.newCast()
	}
	if inPart == 0 && t.told > 0 {
		t.note = strconv.AppendInt(append(t.note, "Part "...), int64(t.told/notesInPart+1), 10)
		t.note = append(t.note, ", "...)
	}
	block := storyBlocks[t.random.below(len(storyBlocks))]
	if inPart < len(storyBlocks) {
		block = storyBlocks[inPart]
	}
	t.told++
	t.note = append(append(t.note, block.label...), ": "...)
	t.expand(t.random.pick(block.sentences))
	return t.note
}

func (t *teller) newCast() {
	for i := range t.cast {
		t.cast[i] = t.random.pick(storyFirst) + " " + t.random.pick(storyLast)
	}
	for i := range t.places {
		t.places[i] = t.random.pick(storyPlaces)
	}
}

// expand writes a sentence with its slots filled. A and B are two people for the whole of it.
func (t *teller) expand(sentence string) {
	a := t.random.below(len(t.cast))
	b := (a + 1 + t.random.below(len(t.cast)-1)) % len(t.cast)
	place := t.random.pick(t.places[:])
	for {
		before, rest, found := strings.Cut(sentence, "{")
		t.note = append(t.note, before...)
		if !found {
			return
		}
		slot, after, _ := strings.Cut(rest, "}")
		sentence = after
		switch slot {
		case "A":
			t.note = append(t.note, t.cast[a]...)
		case "B":
			t.note = append(t.note, t.cast[b]...)
		case "P":
			t.note = append(t.note, place...)
		default:
			t.note = append(t.note, t.phrase(slot)...)
		}
	}
}

// phrase draws a phrase that the note doesn't hold yet.
func (t *teller) phrase(slot string) string {
	for {
		phrase := t.random.pick(storyPhrases[slot])
		if !bytes.Contains(t.note, []byte(phrase)) {
			return phrase
		}
	}
}
