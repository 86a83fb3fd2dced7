package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cutUp gives the parser the pieces of a stream one after the other, and returns the events with their data copied.
func cutUp(pieces ...string) ([]string, error) {
	var p parser
	p.reset()
	var events []string
	lent := make([]byte, 2<<10)
	for i, piece := range pieces {
		for len(piece) > 0 {
			if i%3 > 0 {
				p.takeBack(lent)
				clear(lent) // by another stream
				p.lend(lent)
			}
			n := copy(p.free(), piece)
			piece = piece[n:]
			p.filled(n)
			for {
				e, ok, err := p.next()
				if err != nil {
					return events, err
				}
				if !ok {
					break
				}
				events = append(events, describe(e))
			}
		}
	}
	p.takeBack(lent)
	clear(lent)
	if e, ok := p.last(); ok {
		events = append(events, "last:"+describe(e))
	}
	return events, nil
}

func describe(e event) string {
	if e.failure {
		return "error:" + string(e.data)
	}
	return string(e.data)
}

var streams = []struct {
	name, text string
	want       []string
}{
	{"line feeds", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
	{"carriage returns and line feeds", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
	{"carriage returns", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
	{"line ends of all kinds", "data: a\r\n\ndata: b\r\r\ndata: c\n\r\n", []string{"a", "b", "c"}},
	{"no blank after the colon", "data:a\n\n", []string{"a"}},
	{"one blank is taken off, not more", "data:  a \n\n", []string{" a "}},
	{"several data lines", "data: a\ndata: b\ndata:\ndata: c\n\n", []string{"a\nb\n\nc"}},
	{"several data lines that end in two bytes", "data: a\r\ndata: b\r\n\r\n", []string{"a\nb"}},
	{"several long data lines", "data: a\n\ndata: " + strings.Repeat("x", 3000) + "\ndata: " + strings.Repeat("y", 3000) + "\n\n",
		[]string{"a", strings.Repeat("x", 3000) + "\n" + strings.Repeat("y", 3000)}},
	{"comments and keep-alives", ": ping\n\n:\ndata: a\n: in between\n\n: ping\n\n", []string{"a"}},
	{"fields that are not used", "id: 7\nretry: 10\nevent: message\ndata: a\n\n", []string{"a"}},
	{"a field without a colon", "data\n\ndata\ndata\n\n", []string{"", "\n"}},
	{"an event without data is none", "event: ping\nid: 1\n\ndata: a\n\n", []string{"a"}},
	{"an error event", "event: error\ndata: {\"message\":\"x\"}\n\ndata: a\n\n", []string{"error:{\"message\":\"x\"}", "a"}},
	{"an error event without data", "event: error\n\n", []string{"error:"}},
	// ggml-org/llama.cpp PR #16109: errors came in a field of their own.
	{"an error field", "error: {\"code\":500}\n\ndata: [DONE]\n\n", []string{"error:{\"code\":500}", "[DONE]"}},
	{"a byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"a"}},
	{"a byte order mark in the middle is no blank", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []string{"a"}},
	{"half a byte order mark", "\xef\xbbdata: a\n\ndata: b\n\n", []string{"b"}},
	{"a field that starts alike", "data2: a\ndat: b\n\n", nil},
	{"no end of the last event", "data: a\n\ndata: b\n", []string{"a", "last:b"}},
	{"no end of the last line", "data: a\n\ndata: [DONE]", []string{"a", "last:[DONE]"}},
	{"many blank lines", "\n\n\n\r\n\r\ndata: a\n\n\n\n", []string{"a"}},
	{"nothing", "", nil},
}

func TestEventsOfAStream(t *testing.T) {
	for _, s := range streams {
		got, err := cutUp(s.text)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s: events of %q (-want +got):\n%s", s.name, s.text, diff)
		}
	}
}

// vllm-project/vllm PR #51172: events that were split across reads were damaged.
func TestEveryPlaceToSplitAStream(t *testing.T) {
	texts := []string{fixture(t, "vllm_chat"), fixture(t, "no_done"), fixture(t, "tgi_chat")}
	for _, s := range streams {
		texts = append(texts, s.text)
	}
	for _, text := range texts {
		want, err := cutUp(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(text); i += 1 + len(text)/1000 {
			got, err := cutUp(text[:i], text[i:])
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("split at %d of %q: %v, events (-want +got):\n%s", i, text, err, diff)
			}
		}
		got, err := cutUp(strings.Split(text, "")...)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("byte by byte %q: %v, events (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestAnEventTooLongIsAnErrorNotMemory(t *testing.T) {
	line := strings.Repeat("x", 64<<10)
	endless := map[string]string{
		"a line without end":       line,
		"a comment without end":    ":" + line,
		"data lines without end":   "data: " + line + "\n",
		"comments inside an event": "data: a\n:" + line + "\n",
	}
	for name, piece := range endless {
		var p parser
		p.reset()
		var failed error
		for range 4 * maxEvent / len(piece) {
			for rest := piece; len(rest) > 0 && failed == nil; {
				n := copy(p.free(), rest)
				rest = rest[n:]
				p.filled(n)
				_, _, failed = p.next()
			}
		}
		if failed == nil {
			t.Errorf("%s: no error", name)
		}
		if len(p.buf) > 2*maxEvent+leastRead {
			t.Errorf("%s: the buffer grew to %d bytes", name, len(p.buf))
		}
	}
}

func TestAnEventJustShortEnough(t *testing.T) {
	data := strings.Repeat("x", maxEvent-len("data: \n"))
	got, err := cutUp("data: " + data + "\n\ndata: b\n\n")
	if err != nil || len(got) != 2 || got[0] != data || got[1] != "b" {
		t.Errorf("%d events, error %v; want the long one and b", len(got), err)
	}
}

func TestCommentsLeaveNothingBehind(t *testing.T) {
	var p parser
	p.reset()
	comment := ": " + strings.Repeat("keep-alive ", 20) + "\n"
	for range 10 * maxEvent / len(comment) {
		p.filled(copy(p.free(), comment))
		if _, _, err := p.next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.buf) != firstBuffer {
		t.Errorf("the buffer grew to %d bytes", len(p.buf))
	}
}

func TestALargeBufferIsNotKept(t *testing.T) {
	var p parser
	p.reset()
	for len(p.buf) <= keptBuffer {
		p.filled(len(p.free()))
	}
	p.reset()
	if len(p.free()) != firstBuffer {
		t.Errorf("after a large event the next stream starts with a buffer of %d bytes", len(p.buf))
	}
}

// plainEvents is what the specification says, written down for a whole text at once and without regard to cost.
func plainEvents(text string) []string {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var events []string
	var data []string
	failure := false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		complete := i < len(lines)-1
		if line == "" && (data != nil || failure) {
			text := strings.Join(data, "\n")
			if failure {
				text = "error:" + text
			}
			if !complete {
				text = "last:" + text
			}
			events = append(events, text)
		}
		if line == "" {
			data, failure = nil, false
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			failure = value == "error"
		case "error":
			data, failure = append(data, value), true
		}
	}
	if data != nil || failure {
		text := strings.Join(data, "\n")
		if failure {
			text = "error:" + text
		}
		events = append(events, "last:"+text)
	}
	return events
}

func FuzzSplits(f *testing.F) {
	for _, s := range streams {
		f.Add(s.text, []byte{1, 2, 3})
	}
	f.Add("data: "+strings.Repeat("x", 5000)+"\n\ndata: b\n\n", []byte{255, 255, 7})
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		var pieces []string
		rest := text
		for _, cut := range cuts {
			at := min(int(cut), len(rest))
			pieces = append(pieces, rest[:at])
			rest = rest[at:]
		}
		got, err := cutUp(append(pieces, rest)...)
		if err != nil {
			return // longer than an event may be
		}
		if diff := cmp.Diff(plainEvents(text), got); diff != "" {
			t.Errorf("events of %q in %d pieces (-want +got):\n%s", text, len(pieces)+1, diff)
		}
	})
}

func BenchmarkParser(b *testing.B) {
	one := []byte("data: " + typicalFrame + "\n\n")
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	var p parser
	p.reset()
	for b.Loop() {
		p.filled(copy(p.free(), one))
		if e, ok, err := p.next(); !ok || err != nil || len(e.data) != len(typicalFrame) {
			b.Fatal("no event")
		}
	}
}

func fixture(t testing.TB, name string) string {
	text, err := os.ReadFile(filepath.Join("testdata", "streams", name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
