package simulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"sweetspot/runner/clock"
)

// Log is the ground truth of a service: what it read and wrote, and when. As a file it is lines of JSON: a [LogHeader], then a [LogRequest] for
// each completion request in the order in which they ended.
type Log struct {
	LogHeader
	Requests []LogRequest
}

// LogHeader is the first line of a log.
type LogHeader struct {
	Format  string `json:"format"`   // [LogFormat]
	ClockID string `json:"clock_id"` // instants compare with those of clocks of the same id
	Model   string `json:"model"`
}

// LogFormat names the format of a log and its version.
const LogFormat = "sweetspot-simulator-log/1"

// LogRequest is what became of one completion request.
type LogRequest struct {
	ID           string        `json:"request_id"` // the x-request-id header where it was given; part of the response's id
	Ordinal      int64         `json:"ordinal"`    // from 1, in the order in which requests arrived
	Stream       bool          `json:"stream"`
	Read         clock.Instant `json:"read_ns,omitzero"` // the request had been read whole
	Ended        clock.Instant `json:"ended_ns"`         // the handler was done with it
	HTTPStatus   int           `json:"http_status"`      // 0 where the connection was closed without an answer
	Outcome      string        `json:"outcome"`          // ok, rejected, aborted (the client went, or the service stopped), or fault (it ended the request)
	Faults       []string      `json:"faults,omitempty"`
	PromptTokens int           `json:"prompt_tokens"`
	CachedTokens int           `json:"cached_tokens"`
	OutputTokens int           `json:"output_tokens"` // in the events that were written
	Events       []LogEvent    `json:"events"`        // in the order in which they were written
}

// LogEvent is one event of a stream, or the whole body of an answer that is not streamed.
type LogEvent struct {
	At     clock.Instant `json:"ns"`     // just before the write of its last byte
	Kind   string        `json:"kind"`   // role, reasoning, content, tool_call, finish, usage, error, garbage, done or body
	Tokens int           `json:"tokens"` // that it carried
}

// The kinds of event.
const (
	eventRole      = "role"
	eventReasoning = "reasoning"
	eventContent   = "content"
	eventToolCall  = "tool_call"
	eventFinish    = "finish" // a finish reason without a token
	eventUsage     = "usage"
	eventError     = "error"
	eventGarbage   = "garbage"
	eventDone      = "done"
	eventBody      = "body"
)

// FirstToken is the event that carried the first token, and false where none did.
func (r LogRequest) FirstToken() (LogEvent, bool) {
	for _, e := range r.Events {
		if e.Tokens > 0 {
			return e, true
		}
	}
	return LogEvent{}, false
}

// ReadLog reads a log. Where it ends in the middle of a line, as after a kill, what came before is returned with the error.
func ReadLog(r io.Reader) (*Log, error) {
	lines := json.NewDecoder(r)
	log := &Log{}
	if err := lines.Decode(&log.LogHeader); err != nil {
		return log, fmt.Errorf("reading the header of the service's log: %w", err)
	}
	if log.Format != LogFormat {
		return log, fmt.Errorf("the service's log is of format %q, not %q", log.Format, LogFormat)
	}
	for {
		var request LogRequest
		err := lines.Decode(&request)
		if errors.Is(err, io.EOF) {
			return log, nil
		}
		if err != nil {
			return log, fmt.Errorf("reading request %d of the service's log: %w", len(log.Requests)+1, err)
		}
		log.Requests = append(log.Requests, request)
	}
}

// logWriter writes a log. A request is written when it has ended, so that nothing is written between two events of a stream; the lines reach
// the file when enough have gathered, and whenever no request is open. A nil logWriter writes nothing.
type logWriter struct {
	mu   sync.Mutex
	to   *bufio.Writer
	open int
	err  error // of the first write that went wrong
}

func newLogWriter(w io.Writer, header LogHeader) *logWriter {
	l := &logWriter{to: bufio.NewWriterSize(w, 1<<20)}
	l.write(line(header))
	l.flush()
	return l
}

func (l *logWriter) begin() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
}

func (l *logWriter) end(r *LogRequest) {
	if l == nil {
		return
	}
	text, err := line(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.write(text, err)
	if l.open == 0 {
		l.flush()
	}
}

func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}

func (l *logWriter) write(text []byte, err error) {
	if err == nil {
		_, err = l.to.Write(text)
	}
	l.keep(err)
}

func (l *logWriter) flush() { l.keep(l.to.Flush()) }

func (l *logWriter) keep(err error) {
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("writing the service's log: %w", err)
	}
}

// close writes what has gathered and returns the first error of all.
func (l *logWriter) close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	return l.err
}
