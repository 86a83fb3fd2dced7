package schema

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// json reads one JSON value, as RFC 8259 has it.
func (r *reader) json(src []byte) *node {
	decoder := jsontext.NewDecoder(bytes.NewReader(src), jsontext.AllowDuplicateNames(true))
	j := jsonReader{reader: r, src: src, decoder: decoder, starts: lineStarts(src)}
	root, err := j.value(nil)
	if errors.Is(err, errGivenUp) {
		return nil
	}
	if err == nil {
		if _, err = decoder.ReadToken(); err == nil {
			return r.report(j.at(decoder.InputOffset()-1, nil), "goes on after its end: a file holds one preset")
		}
	}
	if !errors.Is(err, io.EOF) || root == nil {
		return j.syntax(err)
	}
	return root
}

var errGivenUp = errors.New("reading was given up")

type jsonReader struct {
	*reader
	src     []byte
	decoder *jsontext.Decoder
	starts  []int // offsets at which lines begin
}

func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, b := range src {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// at is the place of the byte at an offset.
func (j jsonReader) at(offset int64, p path) place {
	at := min(int(offset), len(j.src))
	line := sort.Search(len(j.starts), func(i int) bool { return j.starts[i] > at })
	return place{file: j.file, line: line, column: at - j.starts[line-1] + 1, path: p}
}

// next is the place of the token that comes next.
func (j jsonReader) next(p path) place {
	offset := int(j.decoder.InputOffset())
	for offset < len(j.src) && strings.IndexByte(" \t\r\n,:", j.src[offset]) >= 0 {
		offset++
	}
	return j.at(int64(offset), p)
}

func (j jsonReader) syntax(err error) *node {
	at := j.at(int64(len(j.src)), nil)
	var syntactic *jsontext.SyntacticError
	if errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &syntactic) {
		return j.report(at, "is not valid JSON: it ends too early")
	}
	at = j.at(syntactic.ByteOffset, nil)
	if bareRange(j.src, at.line) {
		return j.report(at, bareRangeMessage)
	}
	return j.report(at, "is not valid JSON: %v", syntactic.Err)
}

func (j jsonReader) value(p path) (*node, error) {
	at := j.next(p)
	if !j.admit(at) {
		return nil, errGivenUp
	}
	token, err := j.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindNull:
		return &node{kind: null, place: at}, nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return &node{kind: boolean, literal: token.String(), place: at}, nil
	case jsontext.KindNumber:
		return &node{kind: number, literal: token.String(), place: at}, nil
	case jsontext.KindString:
		return &node{kind: text, literal: token.String(), place: at}, nil
	case jsontext.KindBeginArray:
		return j.array(at)
	default:
		return j.object(at)
	}
}

func (j jsonReader) array(at place) (*node, error) {
	read := &node{kind: list, place: at}
	for j.decoder.PeekKind() != jsontext.KindEndArray {
		item, err := j.value(at.path.with(indexed(len(read.items))))
		if err != nil {
			return nil, err
		}
		read.items = append(read.items, item)
	}
	_, err := j.decoder.ReadToken()
	return read, err
}

func (j jsonReader) object(at place) (*node, error) {
	read := &node{kind: object, place: at}
	for j.decoder.PeekKind() != jsontext.KindEndObject {
		key := j.next(at.path)
		name, err := j.decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		f := field{name: name.String(), key: key}
		f.key.path = at.path.with(f.name)
		if f.value, err = j.value(f.key.path); err != nil {
			return nil, err
		}
		j.add(read, f)
	}
	_, err := j.decoder.ReadToken()
	return read, err
}
