package simulator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sweetspot/runner/clock"
)

// memory is a network of one listener inside the process, so that a bubble's time stands still while a connection waits.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemory() *memory { return &memory{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.conns <- far:
		return near, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rig is a service inside a bubble, and a client of it.
type rig struct {
	t      *testing.T
	net    *memory
	client *http.Client
	server *Server
	clock  clock.Clock
	stop   func() error // ends the service and waits for it
	log    bytes.Buffer
}

func newRig(t *testing.T, cfg Config, paced *Paced) *rig {
	t.Helper()
	r := &rig{t: t, net: newMemory(), clock: clock.New()}
	transport := &http.Transport{DialContext: r.net.dial, MaxIdleConnsPerHost: 1000}
	r.client = &http.Client{Transport: transport}
	r.server = newServer(cfg, "test", Options{Model: "tiny", Clock: r.clock, Log: &r.log, Paced: paced})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(ctx, r.net) }()
	var once sync.Once
	var err error
	r.stop = func() error {
		once.Do(func() {
			cancel()
			err = <-served
			transport.CloseIdleConnections()
		})
		return err
	}
	t.Cleanup(func() { _ = r.stop() })
	return r
}

func (r *rig) post(path, body string, header ...string) *http.Response {
	r.t.Helper()
	resp, err := r.try(context.Background(), path, body, header...)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func (r *rig) try(ctx context.Context, path, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://memory"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return r.client.Do(req)
}

func (r *rig) get(path string) *http.Response {
	r.t.Helper()
	resp, err := r.client.Get("http://memory" + path)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// seen is one event as a client sees it.
type seen struct {
	at    time.Duration // after the stream's start
	data  string
	delta delta
	usage *wireUsage
	err   bool // it is, or holds, an error
}

type delta struct {
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content"`
	Role      string `json:"role"`
	ToolCalls []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type wireUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Completion int `json:"completion_tokens"`
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// read reads a stream to its end. The error is that of reading.
func (r *rig) read(resp *http.Response, began clock.Instant) (events []seen, err error) {
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		e := seen{at: r.clock.Now().Sub(began), data: data}
		var frame struct {
			Choices []struct {
				Delta delta  `json:"delta"`
				Text  string `json:"text"`
			} `json:"choices"`
			Usage *wireUsage      `json:"usage"`
			Error json.RawMessage `json:"error"`
		}
		if data != "[DONE]" {
			e.err = json.Unmarshal([]byte(data), &frame) != nil || frame.Error != nil
		}
		if len(frame.Choices) > 0 {
			e.delta = frame.Choices[0].Delta
			e.delta.Content += frame.Choices[0].Text
		}
		e.usage = frame.Usage
		events = append(events, e)
	}
	return events, lines.Err()
}

func (r *rig) stream(path, body string, header ...string) ([]seen, error) {
	r.t.Helper()
	began := r.clock.Now()
	return r.read(r.post(path, body, header...), began)
}

// readLog stops the service and reads its log.
func (r *rig) readLog() *Log {
	r.t.Helper()
	if err := r.stop(); err != nil {
		r.t.Fatal(err)
	}
	log, err := ReadLog(&r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	return log
}

const chatPath, completionsPath = "/v1/chat/completions", "/v1/completions"

// ask is the body of a chat request.
func ask(more string) string {
	return `{"model":"tiny","messages":[{"role":"user","content":"Tell me of the sea."}],` + more + `}`
}
