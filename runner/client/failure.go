package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode"

	"sweetspot/runner/measure"
)

const (
	maxMessage = 400      // bytes of a failure's text
	maxReason  = 64       // bytes of a finish reason
	maxSecret  = 1 << 10  // bytes of the longest secret that is surely found where a text is cut
	maxRefusal = 64 << 10 // bytes read of a body that is no stream
)

// failure is why a request is not ok. Its text comes from outside and is not for showing before [Client.excerpt] had it.
type failure struct {
	status measure.Status
	text   string
}

// excerpt is the start of text, of at most limit bytes, in one line and without secrets.
func (c *Client) excerpt(text string, limit int) string {
	cut := len(text) > limit+maxSecret
	if cut {
		text = text[:limit+maxSecret]
	}
	text = c.config.Redact(text)
	if cut { // a secret may have been cut in two, and what follows it may have moved up
		text = text[:max(0, len(text)-maxSecret)]
	}
	const more = "…"
	if cut || len(text) > limit {
		text = text[:min(len(text), limit-len(more))] + more
	}
	return oneLine(text)
}

// escapes are a terminal's: control sequences, operating system commands, and those of two characters. One that was cut is one too.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?")

// oneLine puts a blank in the place of all that is not for showing: controls, marks that change the direction of what follows, escapes. A blank,
// since what stands on either side may be a secret's halves.
func oneLine(text string) string {
	if isPrintable(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "")
	if strings.ContainsAny(text, "\x1b\u009b") {
		text = escapes.ReplaceAllString(text, " ")
	}
	printable := func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}
	return strings.Map(printable, text)
}

// isPrintable is for text of plain characters, as most is.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// refusal is the failure that a response's header says, nil where a stream of events follows.
func refusal(response *http.Response, body io.Reader) *failure {
	if response.StatusCode != http.StatusOK {
		return httpFailure(response, body)
	}
	return notStreamed(response, body)
}

// httpFailure is a response with a status other than 200. It reads the body, so that the connection can be used again.
func httpFailure(response *http.Response, body io.Reader) *failure {
	text := fmt.Sprintf("HTTP %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	if to := response.Header.Get("Location"); to != "" {
		text += " to " + to + ", which is not followed"
	}
	if said := readRefusal(body); len(said) > 0 {
		text += ": " + message(said)
	}
	return &failure{measure.HTTPError, text}
}

// notStreamed is a response with status 200 that is no stream of events, nil where it is one. What says nothing of its type is taken for one.
func notStreamed(response *http.Response, body io.Reader) *failure {
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return &failure{measure.StreamError, "the response is encoded as " + encoding + ", which was not asked for"}
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream", "":
		return nil
	case "application/json":
		if text, ok := reportedMessage(readRefusal(body)); ok {
			return &failure{measure.StreamError, "the service sent an error with status 200: " + text}
		}
		return &failure{measure.StreamError, "the service ignored stream: true: it answered with application/json, whole"}
	}
	return &failure{measure.StreamError, "the service answered with " + kind + " where text/event-stream belongs: " + start(readRefusal(body))}
}

func readRefusal(body io.Reader) []byte {
	text, _ := io.ReadAll(io.LimitReader(body, maxRefusal)) // what there is explains the refusal as far as it goes
	return text
}

// message is what a service says in an error: the text in its JSON where there is one, else all of it.
func message(data []byte) string {
	if text, ok := reportedMessage(data); ok {
		return text
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return start(data)
}

// start is as much of data as an excerpt looks at.
func start(data []byte) string {
	return strings.TrimSpace(string(data[:min(len(data), maxMessage+2*maxSecret)]))
}

// reportedMessage finds the text of an error where the services have it: in error.message, error, message or detail.
func reportedMessage(data []byte) (string, bool) {
	var report struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(data, &report) != nil {
		return "", false
	}
	var nested struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(report.Error, &nested) == nil && nested.Message != "":
		return nested.Message, true
	case report.Message != "":
		return report.Message, true
	}
	for _, raw := range []json.RawMessage{report.Error, report.Detail} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text, true
		}
		if len(raw) > 0 && string(raw) != "null" {
			return string(raw), true
		}
	}
	return "", false
}
