package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"sweetspot/runner/workload/input"
)

// decode reads one JSON object without fields that into lacks.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return input.Explained(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("column %d: there is more than one JSON value", decoder.InputOffset()+1)
	}
	return nil
}

// number is a JSON number that may be written as text, as tables have it; what it is, is looked at when its name is known.
type number string

// UnmarshalJSON takes up what is there.
func (n *number) UnmarshalJSON(text []byte) error {
	*n = number(strings.Trim(string(text), `" `))
	return nil
}

func (n *number) value(name string) (float64, error) {
	if n == nil || *n == "" {
		return 0, fmt.Errorf("%s is missing", name)
	}
	value, err := strconv.ParseFloat(string(*n), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return 0, fmt.Errorf("%s must be a number, not %s", name, short(string(*n)))
	}
	return value, nil
}

// count is n as a whole number from least to MostTokens.
func (n *number) count(name string, least int64) (int64, error) {
	value, err := n.value(name)
	if err == nil && (value != math.Trunc(value) || value < float64(least) || value > MostTokens) {
		err = fmt.Errorf("%s must be a whole number from %d to %d, not %s", name, least, MostTokens, short(string(*n)))
	}
	return int64(value), err
}

// duration is n of a unit, from 0 to most.
func (n *number) duration(name string, unit, most time.Duration) (time.Duration, error) {
	value, err := n.value(name)
	if err != nil {
		return 0, err
	}
	nanoseconds := value * float64(unit)
	if !(nanoseconds >= 0) || nanoseconds > float64(most) {
		return 0, fmt.Errorf("%s must be from 0 to %g, not %s", name, float64(most)/float64(unit), short(string(*n)))
	}
	return time.Duration(math.Round(nanoseconds)), nil
}

// latest is the last instant of a file's own clock, which may count since 1970.
const latest = time.Duration(9e18)

// label is a name: text, or a whole number.
type label string

// UnmarshalJSON reads both forms.
func (l *label) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		return json.Unmarshal(text, (*string)(l))
	}
	if _, err := strconv.ParseInt(string(text), 10, 64); err != nil {
		return fmt.Errorf("%s is no name: it must be text or a whole number", short(string(text)))
	}
	*l = label(text)
	return nil
}

// short cuts a text for a message.
func short(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// blocks are the names of blocks: whole numbers of 64 bits, with a sign or without.
type blocks []uint64

// UnmarshalJSON reads a list. It is written out, as traces are mostly such lists.
func (b *blocks) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	if string(text) == "null" {
		return nil
	}
	if len(text) < 2 || text[0] != '[' {
		return fmt.Errorf("hash_ids must be a list of whole numbers, not %s", short(string(text)))
	}
	for rest := text[1 : len(text)-1]; len(rest) > 0; {
		item, after, _ := bytes.Cut(rest, []byte(","))
		id, err := block(bytes.TrimSpace(item))
		if err != nil {
			if len(*b) == 0 && len(bytes.TrimSpace(rest)) == 0 {
				return nil // []
			}
			return fmt.Errorf("hash_ids[%d] is %s: it must be a whole number of at most 64 bits", len(*b), short(strings.TrimSpace(string(item))))
		}
		*b = append(*b, id)
		rest = after
	}
	return nil
}

func block(text []byte) (uint64, error) {
	if len(text) == 0 || len(text) > 18 || text[0] == '-' {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return uint64(n), nil
		}
		return strconv.ParseUint(string(text), 10, 64)
	}
	var id uint64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, strconv.ErrSyntax
		}
		id = id*10 + uint64(c-'0')
	}
	return id, nil
}

// fits holds that blocks reach no further than the prompt.
func fits(ids blocks, promptTokens, blockTokens int64) error {
	if most := (promptTokens + blockTokens - 1) / blockTokens; int64(len(ids)) > most {
		return fmt.Errorf("hash_ids has %d, but a prompt of %d tokens has %d blocks of %d: is block_size another?", len(ids), promptTokens, most, blockTokens)
	}
	return nil
}

// conversation holds that messages are objects with a role.
func conversation(messages []json.RawMessage) error {
	for i, message := range messages {
		var fields struct {
			Role string `json:"role"`
		}
		if err := json.Unmarshal(message, &fields); err != nil || fields.Role == "" {
			return fmt.Errorf("messages[%d] must be an object with a role", i)
		}
	}
	return nil
}
