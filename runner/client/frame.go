package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// count is a number of tokens that a service may or may not have given.
type count struct {
	n     int64
	given bool
}

func (c count) pointer() *int64 {
	if !c.given {
		return nil
	}
	return &c.n
}

// usage is the newest state of each token count of a response.
type usage struct{ prompt, output, reasoning, cached count }

// frame is what the data of one event says. Texts are JSON strings as they stand, quotes and all, and nil where there is none or an empty one;
// they lie in the event's data.
type frame struct {
	content   []byte
	reasoning []byte
	toolCalls []byte // a JSON array that is not empty
	finish    []byte
	failure   []byte // any JSON: the error that the service reports
	output    count  // output tokens so far, as this very event gives them
	counted   bool   // the event says something of usage
	stop      int    // where the text read last ends in the data
}

// token reports whether the event carries output of any kind.
func (f *frame) token() bool { return f.content != nil || f.reasoning != nil || f.toolCalls != nil }

// visible reports whether it carries content that is not reasoning; a tool call is neither.
func (f *frame) visible() bool { return f.content != nil }

// decoder reads frames. It is strict: data that is not one JSON object, or that holds another type where it is read, is an error. It keeps nothing,
// so that a few serve all streams: what is used all the time stays in the processor's caches.
type decoder struct {
	json   *jsontext.Decoder
	source bytes.Buffer
	data   []byte
	frame  frame
	usage  *usage
}

func newDecoder() any { return &decoder{json: jsontext.NewDecoder(&bytes.Buffer{})} }

// decode reads data into d.frame, and what it says of usage into u.
func (d *decoder) decode(data []byte, u *usage) error {
	d.frame, d.usage = frame{}, u
	d.data, d.source = data, *bytes.NewBuffer(data)
	d.json.Reset(&d.source, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.json.PeekKind() == 'n' {
		return errors.New("the frame is null")
	}
	if err := d.members("the frame", (*decoder).top); err != nil {
		return err
	}
	if _, err := d.json.ReadToken(); err != io.EOF {
		return errors.New("more follows the frame's object")
	}
	return nil
}

// members reads an object, calling member after each name, which is quoted, to read its value. A null reads as an object without members.
func (d *decoder) members(what string, member func(d *decoder, name []byte) error) error {
	if d.json.PeekKind() == 'n' {
		return d.json.SkipValue()
	}
	if err := d.open('{', what); err != nil {
		return err
	}
	for d.json.PeekKind() != '}' {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendQuote(nil, appendText(nil, name))
		}
		if err := member(d, name); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

func (d *decoder) open(kind jsontext.Kind, what string) error {
	if got := d.json.PeekKind(); got != kind {
		if _, err := d.json.ReadToken(); err != nil {
			return err
		}
		return fmt.Errorf("%s is a %s where a %s belongs", what, got, kind)
	}
	_, err := d.json.ReadToken()
	return err
}

func (d *decoder) top(name []byte) error {
	switch string(name) {
	case `"choices"`:
		return d.choices()
	case `"usage"`:
		return d.members("usage", (*decoder).usageMember)
	case `"error"`:
		return d.reported()
	case `"object"`:
		return d.object()
	}
	return d.json.SkipValue()
}

// object notes a frame whose kind is an error, in the form of servers that give no error member.
func (d *decoder) object() error {
	value, err := d.value()
	if string(value) == `"error"` && d.frame.failure == nil {
		d.frame.failure = d.data
	}
	return err
}

func (d *decoder) reported() error {
	value, err := d.value()
	if err == nil && value.Kind() != 'n' && value.Kind() != 'f' && string(value) != `""` {
		d.frame.failure = value
	}
	return err
}

// value reads any value. It lies in the frame's data, unlike what the JSON decoder returns, which is gone with the next thing read.
func (d *decoder) value() (jsontext.Value, error) {
	value, err := d.json.ReadValue()
	stop := d.json.InputOffset()
	return d.data[stop-int64(len(value)) : stop], err
}

func (d *decoder) choices() error {
	if d.json.PeekKind() == 'n' {
		return d.json.SkipValue()
	}
	if err := d.open('[', "choices"); err != nil {
		return err
	}
	for d.json.PeekKind() != ']' {
		if err := d.members("a choice", (*decoder).choice); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

func (d *decoder) choice(name []byte) error {
	switch string(name) {
	case `"delta"`:
		return d.members("delta", (*decoder).delta)
	case `"text"`:
		return d.text("text", &d.frame.content)
	case `"finish_reason"`:
		return d.text("finish_reason", &d.frame.finish)
	}
	return d.json.SkipValue()
}

func (d *decoder) delta(name []byte) error {
	switch string(name) {
	case `"content"`:
		return d.text("content", &d.frame.content)
	case `"reasoning_content"`:
		return d.text("reasoning_content", &d.frame.reasoning)
	case `"reasoning"`:
		return d.text("reasoning", &d.frame.reasoning)
	case `"tool_calls"`:
		return d.tools()
	}
	return d.json.SkipValue()
}

// text reads a string or a null into into, and leaves it alone where the text is empty.
func (d *decoder) text(what string, into *[]byte) error {
	value, err := d.value()
	if err != nil {
		return err
	}
	switch kind := value.Kind(); {
	case kind == '"' && len(value) > 2:
		*into, d.frame.stop = value, int(d.json.InputOffset())
	case kind != '"' && kind != 'n':
		return fmt.Errorf("%s is a %s where a string belongs", what, kind)
	}
	return nil
}

func (d *decoder) tools() error {
	value, err := d.value()
	if err != nil {
		return err
	}
	switch kind := value.Kind(); {
	case kind == '[' && len(bytes.TrimSpace(value[1:len(value)-1])) > 0:
		d.frame.toolCalls = value
	case kind != '[' && kind != 'n':
		return fmt.Errorf("tool_calls is a %s where an array belongs", kind)
	}
	return nil
}

func (d *decoder) usageMember(name []byte) error {
	d.frame.counted = true
	switch string(name) {
	case `"prompt_tokens"`:
		return d.count("usage.prompt_tokens", &d.usage.prompt)
	case `"completion_tokens"`:
		err := d.count("usage.completion_tokens", &d.frame.output)
		if d.frame.output.given {
			d.usage.output = d.frame.output
		}
		return err
	case `"reasoning_tokens"`: // where SGLang has it
		return d.count("usage.reasoning_tokens", &d.usage.reasoning)
	case `"completion_tokens_details"`:
		return d.members("usage.completion_tokens_details", (*decoder).outputDetail)
	case `"prompt_tokens_details"`:
		return d.members("usage.prompt_tokens_details", (*decoder).promptDetail)
	}
	return d.json.SkipValue()
}

func (d *decoder) outputDetail(name []byte) error {
	if string(name) == `"reasoning_tokens"` {
		return d.count("usage.completion_tokens_details.reasoning_tokens", &d.usage.reasoning)
	}
	return d.json.SkipValue()
}

func (d *decoder) promptDetail(name []byte) error {
	if string(name) == `"cached_tokens"` {
		return d.count("usage.prompt_tokens_details.cached_tokens", &d.usage.cached)
	}
	return d.json.SkipValue()
}

// maxCount is above the number of tokens of any request, and leaves sums over a point's requests room in 64 bits.
const maxCount = 1_000_000_000

// count reads a whole number from 0 to maxCount, or a null, which leaves into alone.
func (d *decoder) count(what string, into *count) error {
	value, err := d.json.ReadValue()
	if err != nil || value.Kind() == 'n' {
		return err
	}
	n, err := strconv.ParseUint(string(value), 10, 63)
	if err != nil || n > maxCount {
		return fmt.Errorf("%s is %s where a number of tokens belongs", what, value)
	}
	*into = count{n: int64(n), given: true}
	return nil
}
