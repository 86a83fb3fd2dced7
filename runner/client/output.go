package client

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sweetspot/runner/measure"
)

const (
	maxSample   = 200      // bytes of output in a record
	maxText     = 16 << 20 // bytes of an answer that a later turn needs
	maxDistinct = 8        // different texts that are told apart
)

// output is what of a response's output outlives it.
type output struct {
	hashes []uint64 // of the different texts that events carried, each reduced to its unit, at most maxDistinct
	start  []byte   // all texts one after the other, as far as a sample needs them
	whole  []byte   // the visible text, where it is wanted
	wanted bool
	hidden bool // some of the output is not in whole
}

func (o *output) reset(wantText bool) {
	*o = output{hashes: o.hashes[:0], start: o.start[:0], wanted: wantText}
}

// add takes an event that carries output.
func (o *output) add(f *frame) *failure {
	if len(o.hashes) < maxDistinct {
		o.distinguish(hash(hash(hash(hashStart, unit(f.reasoning)), unit(f.content)), f.toolCalls))
	}
	if len(o.start) < maxSample+maxSecret {
		o.extend(f)
	}
	o.hidden = o.hidden || f.reasoning != nil || f.toolCalls != nil
	if !o.wanted || f.content == nil {
		return nil
	}
	if len(o.whole)+len(f.content) > maxText {
		return &failure{measure.StreamError, "the answer, which a later turn needs, is longer than 16 MiB"}
	}
	o.whole = appendText(o.whole, f.content)
	return nil
}

func (o *output) distinguish(h uint64) {
	for _, seen := range o.hashes {
		if seen == h {
			return
		}
	}
	o.hashes = append(o.hashes, h)
}

func (o *output) extend(f *frame) {
	start := appendText(appendText(o.start, f.reasoning), f.content)
	start = append(start, f.toolCalls...)
	if len(start) > maxSample+maxSecret {
		start = bytes.Clone(start[:maxSample+maxSecret]) // one event may have been long
	}
	o.start = start
}

// unit is what the text of a JSON string repeats, all of it where it repeats nothing: a model that emits one token without end is seen as such
// however many of them share an event.
func unit(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	text := quoted[1 : len(quoted)-1]
	for n := 1; n <= len(text)/2; n++ {
		if len(text)%n == 0 && bytes.Equal(text[n:], text[:len(text)-n]) {
			return text[:n]
		}
	}
	return text
}

// appendText appends what a JSON string says; nothing where quoted is nil. What is no valid text in it becomes U+FFFD.
func appendText(dst, quoted []byte) []byte {
	if quoted == nil {
		return dst
	}
	if text := quoted[1 : len(quoted)-1]; bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return append(dst, text...)
	}
	dst, _ = jsontext.AppendUnquote(dst, quoted)
	return dst
}

// FNV-1a.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

func hash(h uint64, text []byte) uint64 {
	for _, c := range text {
		h = (h ^ uint64(c)) * hashPrime
	}
	return (h ^ 0xff) * hashPrime // texts that follow each other are told apart
}
