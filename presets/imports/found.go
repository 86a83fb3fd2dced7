package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// Trial is a configuration that was measured.
type Trial struct {
	Name     string
	Model    string
	Workload string // JSON of what was asked; package pipeline's where it is the same as one of its workloads
	Points   []Point
}

// Point is one measurement.
type Point struct {
	Load    schema.PointLoad
	Row     measure.Point
	Records []measure.Record // nil where the file has only totals
}

// measurement is a measurement of which the requests are known.
type measurement struct {
	load    schema.PointLoad
	clockID string
	wall    bool // instants are nanoseconds since 1970
	records []measure.Record
	failed  string // why the whole is no measurement
}

// summarized computes the row by the definitions of package measure. Targets are those of the load; sessions are those of the records.
func (m measurement) summarized() Point {
	o := measure.Outcome{Records: m.records, Sessions: sessions(m.records), Aborted: m.failed}
	slices.SortFunc(o.Records, func(a, b measure.Record) int { return cmp.Compare(a.Dispatched, b.Dispatched) })
	for i := range o.Records {
		r := &o.Records[i]
		r.Index = int64(i)
		settle(r)
		o.Finished = max(o.Finished, r.Ended)
		if i == 0 {
			o.Started = r.Dispatched
		}
	}
	if m.load.RequestRate == nil {
		o.TargetSessions = m.load.Lanes()
		if single(m.records) {
			o.Target = m.load.Slots()
		}
	}
	p := Point{Load: m.load, Row: measure.Summarize(o, m.load, schema.Limits{}), Records: o.Records}
	p.Row.ClockID = m.clockID
	if m.wall && o.Started.Happened() {
		p.Row.StartedAt = time.Unix(0, int64(o.Started)).UTC().Format(time.RFC3339Nano)
	}
	return p
}

// settle gives up a time that another clock kept, and sorts a request without output, which a tool may call a success.
func settle(r *measure.Record) {
	if r.Scheduled > r.Dispatched {
		r.Scheduled = 0
	}
	if r.Status != measure.OK || r.OutputTokens == nil || *r.OutputTokens != 0 {
		return
	}
	r.Status, r.Error = measure.Empty, ref("it has no output tokens")
	if r.FirstToken.Happened() {
		r.Status, r.Error = measure.StreamError, ref("it had a token, and its output is counted as 0 tokens")
	}
}

// single reports whether every session is one request.
func single(records []measure.Record) bool {
	return !slices.ContainsFunc(records, func(r measure.Record) bool { return r.Turn > 0 })
}

// sessions are the lives of the session trees: from the first dispatch of each to its last end.
func sessions(records []measure.Record) []measure.Span {
	lives := map[int64]measure.Span{}
	for _, r := range records {
		life, known := lives[r.Session]
		if !known || r.Dispatched < life.Start {
			life.Start = r.Dispatched
		}
		life.End = max(life.End, r.Ended)
		lives[r.Session] = life
	}
	return slices.SortedFunc(maps.Values(lives), func(a, b measure.Span) int { return cmp.Compare(a.Start, b.Start) })
}

// at is an instant given in seconds. 0, which no clock reads, and what is no time are no instant.
func at(seconds float64) clock.Instant {
	ns := math.Round(seconds * float64(time.Second))
	if math.IsNaN(ns) || ns <= 0 || ns >= math.MaxInt64 {
		return 0
	}
	return clock.Instant(ns)
}

// offset is a length of time in whole nanoseconds, and one that is too long to be a little too long: sums of it are told from times that can be.
func offset(seconds float64) int64 {
	const bound = 2 * longest
	return int64(math.Round(min(max(seconds*float64(time.Second), -float64(bound)), float64(bound))))
}

// randomWorkload is that of random prompts of one length, as a preset's own random workload writes it: then both are the same work. Tools count the
// length without the chat template; sweetspot with it.
func randomWorkload(prompt, output, shared int64) string {
	constant := func(n int64) schema.Distribution { return schema.Distribution{Constant: &n} }
	return compact(schema.Workload{Random: &schema.Random{PromptTokens: constant(prompt), OutputTokens: constant(output), SharedPrefixTokens: shared}}.Content())
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of plain values
	}
	return string(text)
}

// workloadName is the column that names a workload: its key.
func workloadName(workload string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(workload), &fields) != nil || len(fields) != 1 {
		return "unknown"
	}
	for name := range fields {
		return name
	}
	return ""
}

// someOf names the first fields of an object.
func someOf(fields map[string]json.RawMessage) string {
	const most = 8
	names := slices.Sorted(maps.Keys(fields))
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// concurrency is a closed loop's load.
func concurrency(n int64) schema.PointLoad { return schema.PointLoad{Concurrency: &n} }

// asked is the load that a file does not say: the one concurrency that the person says.
func (o Options) asked(f *File, what string) (schema.PointLoad, error) {
	if len(o.Concurrency) != 1 {
		return schema.PointLoad{}, f.fault("", "%s: say it with --concurrency N", what)
	}
	return concurrency(o.Concurrency[0]), nil
}

var httpCode = regexp.MustCompile(`(?i)(?:http error |server error '|client error '|status(?: code)?:? ?)([3-5]\d\d)\b`)

// failure sorts an error of another tool by what its text and HTTP status say. What they leave open is an error in the stream.
func failure(text string, status int64) measure.Status {
	if code := httpCode.FindStringSubmatch(text); status == 0 && code != nil {
		status, _ = strconv.ParseInt(code[1], 10, 64) // three digits
	}
	low := strings.ToLower(text)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(low, word) })
	}
	switch {
	case status >= 300 && status < 600:
		return measure.HTTPError
	case has("timeout", "timed out"):
		return measure.Timeout
	case has("cannot connect", "connection refused", "connecterror", "clientconnectorerror", "serverdisconnected", "name or service not known"):
		return measure.ConnectError
	case has("never received a valid chunk", "no content", "empty response", "empty output"):
		return measure.Empty
	}
	return measure.StreamError
}

// messageOf bounds and redacts the text of an error.
func messageOf(text string) *string {
	const most = 500
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 1 && strings.HasPrefix(lines[0], "Traceback") {
		text = lines[len(lines)-1]
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	text = schema.RedactText(text)
	return &text
}

func plural(n int, one string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
