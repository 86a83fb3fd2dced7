package imports

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// distinct is an error if an object of the file, at any depth, has a key twice, as one that was damaged or put together by hand may. Which of both counts
// would hang on who reads it. Other faults are the format's.
func (f *File) distinct() error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(f.Text), jsontext.AllowInvalidUTF8(true))
	for {
		err := decoder.SkipValue()
		if err == nil {
			continue
		}
		var fault *jsontext.SyntacticError
		if !errors.Is(err, jsontext.ErrDuplicateName) || !errors.As(err, &fault) {
			return nil
		}
		within := ""
		if object := fault.JSONPointer.Parent(); object != "" {
			within = " in " + fieldOf(object)
		}
		return f.fault(fmt.Sprintf("line %d", lineAt(f.Text, int(fault.ByteOffset))),
			"the key %.60q stands twice%s: one of both would go unsaid: import the file as the tool wrote it", fault.JSONPointer.LastToken(), within)
	}
}

var listPlace = regexp.MustCompile(`/(\d+)`)

// fieldOf names a place in a JSON value as other errors do: requests[3].usage.
func fieldOf(p jsontext.Pointer) string {
	return strings.TrimPrefix(strings.ReplaceAll(listPlace.ReplaceAllString(string(p), "[$1]"), "/", "."), ".")
}
