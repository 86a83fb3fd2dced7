package input

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Distinct is an error if an object in a JSON value, at any depth, has a key twice: which of the two counts would hang on who reads it, and one would go
// unsaid. Other faults are the reader's.
func Distinct(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	err := decoder.SkipValue()
	var fault *jsontext.SyntacticError
	if !errors.Is(err, jsontext.ErrDuplicateName) || !errors.As(err, &fault) {
		return nil
	}
	where, name := "", fault.JSONPointer.LastToken()
	if parent := fault.JSONPointer.Parent(); parent != "" {
		where = " in " + short(strings.ReplaceAll(string(parent[1:]), "/", "."))
	}
	return fmt.Errorf("the key %q stands twice%s: leave one out", short(name), where)
}

// short cuts a text for a message.
func short(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
