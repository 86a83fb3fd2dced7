package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Explained puts an error of encoding/json about one entry in the words of whoever wrote the file: where, and what is wrong, without the names of our
// types.
func Explained(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("column %d: %w", syntax.Offset, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the JSON ends too early")
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%s must not be %s", kind.Field, kindText(kind.Value))
	case errors.As(err, &kind):
		return fmt.Errorf("must be a JSON object, not %s", kindText(kind.Value))
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if name, unknown := strings.CutPrefix(text, "unknown field "); unknown {
		return fmt.Errorf("the field %s is not known in this format, and can't be honoured", name)
	}
	return errors.New(text)
}

// kindText is a kind of JSON value, which encoding/json may give with the value itself.
func kindText(kind string) string {
	switch kind {
	case "number":
		return "a number"
	case "string":
		return "text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "the " + kind // "number 1e400"
}
