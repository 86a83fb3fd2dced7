package input

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Distinct is an error if an object in a JSON value, at any depth, has a key twice: which of the two counts would hang on who reads it, and one would go
// unsaid. In the objects that are read by their keys, which are those of an entry and below the keys of parts, it is one too if keys differ in case alone:
// either would be taken. Other faults are the reader's.
func Distinct(text []byte) error {
	d := distinct{jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))}
	err := d.value()
	var alike alikeError
	if errors.As(err, &alike) {
		return alike
	}
	var fault *jsontext.SyntacticError
	if !errors.Is(err, jsontext.ErrDuplicateName) || !errors.As(err, &fault) {
		return nil
	}
	return fmt.Errorf("the key %q stands twice%s: leave one out", short(fault.JSONPointer.LastToken()), within(fault.JSONPointer.Parent()))
}

// parts are the keys below which the formats have objects that are read by their keys. What else an entry has, such as the schemas of tools, is sent or kept as
// it is, and keys that differ in case alone have their place there.
var parts = []string{"messages", "conversations", "turns", "forks", "spawns", "requests", "body"}

type distinct struct{ *jsontext.Decoder }

// value reads a value that is read by its keys, or a list of such.
func (d distinct) value() error {
	switch d.PeekKind() {
	case jsontext.KindBeginObject:
		return d.object()
	case jsontext.KindBeginArray:
		return d.list()
	}
	return d.SkipValue()
}

func (d distinct) list() error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for kind := d.PeekKind(); kind != jsontext.KindEndArray; kind = d.PeekKind() {
		if err := d.value(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (d distinct) object() error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	seen := map[string]string{} // as they are written, by what any case of them comes to
	for kind := d.PeekKind(); kind != jsontext.KindEndObject; kind = d.PeekKind() {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		folded := strings.ToLower(strings.ToUpper(name))
		if first, twice := seen[folded]; twice {
			return alikeError{first, name, d.StackPointer().Parent()}
		}
		seen[folded] = name
		read := d.SkipValue
		if slices.Contains(parts, folded) {
			read = d.value
		}
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// alikeError is that two keys of an object differ in case alone.
type alikeError struct {
	first, second string
	in            jsontext.Pointer
}

func (e alikeError) Error() string {
	return fmt.Sprintf("the keys %q and %q%s differ in case alone: leave one out", short(e.first), short(e.second), within(e.in))
}

// within says where an object stands; it is empty for the entry itself.
func within(object jsontext.Pointer) string {
	if object == "" {
		return ""
	}
	return " in " + short(strings.ReplaceAll(string(object[1:]), "/", "."))
}

// short cuts a text for a message.
func short(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
