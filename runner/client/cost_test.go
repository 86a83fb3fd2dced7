package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/runner/workload"
)

// BenchmarkEventCost measures the CPU time that an event costs this process: with Send, and with a bare reader that has one goroutine per socket
// and only counts bytes, on the same paced service in a process of its own. Run it with
//
//	go test -run '^$' -bench EventCost -benchtime 1x -count 5 ./runner/client
func BenchmarkEventCost(b *testing.B) {
	for _, load := range []pace{
		{streams: 100, rounds: 3, events: 100, every: 10 * time.Millisecond},
		{streams: 500, rounds: 3, events: 100, every: 50 * time.Millisecond},
		{streams: 2000, rounds: 3, events: 100, every: 50 * time.Millisecond},
		{streams: 9000, rounds: 2, events: 100, every: 250 * time.Millisecond},
	} {
		name := fmt.Sprintf("%dx%d", load.streams, time.Second/load.every)
		b.Run("reader/"+name, func(b *testing.B) { load.bench(b, readBare) })
		b.Run("send/"+name, func(b *testing.B) { load.bench(b, sendAll) })
	}
}

// BenchmarkStreamMemory measures what a stream in flight costs this process in memory, goroutines' stacks and buffers included, with 10,000 of
// them: by the operating system's count and by the runtime's own.
func BenchmarkStreamMemory(b *testing.B) {
	load := pace{streams: 10_000, rounds: 1, events: 40, every: 500 * time.Millisecond}
	b.Run("reader/10000", func(b *testing.B) { load.benchMemory(b, readBare) })
	b.Run("send/10000", func(b *testing.B) { load.benchMemory(b, sendAll) })
}

// pace is a load: each stream makes its requests one after the other, and each answer is events at a fixed pace.
type pace struct {
	streams, rounds, events int
	every                   time.Duration
}

const pacedPrefill = 100 * time.Millisecond

func (p pace) bench(b *testing.B, run func(testing.TB, pace, string) []time.Duration) {
	address := startPaced(b, p)
	for b.Loop() {
		before, started := clock.Processor(), time.Now()
		ttft := run(b, p, address)
		used, wall := clock.Processor()-before, time.Since(started)
		slices.Sort(ttft)
		events := float64(p.streams * p.rounds * p.events)
		b.ReportMetric(float64(used.Microseconds())/events, "cpu-µs/event")
		b.ReportMetric(events/wall.Seconds(), "event/s")
		b.ReportMetric(float64(ttft[len(ttft)/2].Microseconds())/1000, "ttft-p50-ms")
		b.ReportMetric(float64(ttft[len(ttft)*99/100].Microseconds())/1000, "ttft-p99-ms")
		b.ReportMetric(0, "ns/op")
	}
}

func (p pace) benchMemory(b *testing.B, run func(testing.TB, pace, string) []time.Duration) {
	address := startPaced(b, p)
	for b.Loop() {
		debug.FreeOSMemory()
		idle, idleHeld := residentBytes(b), heldBytes()
		peak, peakHeld := make(chan uint64), make(chan uint64)
		time.AfterFunc(p.every*time.Duration(p.events)*3/4, func() { peak <- residentBytes(b); peakHeld <- heldBytes() })
		done := make(chan struct{})
		go func() { run(b, p, address); close(done) }()
		b.ReportMetric(float64(int64(<-peak-idle))/1024/float64(p.streams), "resident-KiB/stream")
		b.ReportMetric(float64(int64(<-peakHeld-idleHeld))/1024/float64(p.streams), "runtime-KiB/stream")
		b.ReportMetric(0, "ns/op")
		<-done
	}
}

// readBare is the floor: one goroutine per socket that writes a request, reads and counts.
func readBare(t testing.TB, p pace, address string) []time.Duration {
	request := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", address, len(pacedBody), pacedBody)
	length := pacedLength(p.events)
	return p.each(t, func() func() (time.Duration, error) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return func() (time.Duration, error) { return 0, err }
		}
		buf := make([]byte, 4<<10)
		return func() (time.Duration, error) {
			started := time.Now()
			if _, err := io.WriteString(conn, request); err != nil {
				return 0, err
			}
			var first time.Duration
			for total := 0; total < length; {
				n, err := conn.Read(buf)
				if err != nil {
					return 0, err
				}
				if first == 0 {
					first = time.Since(started)
				}
				total += n
			}
			return first, nil
		}
	})
}

func sendAll(t testing.TB, p pace, address string) []time.Duration {
	c, err := New(Config{BaseURLs: []string{"http://" + address + "/v1"}, API: "chat", Timeout: time.Minute, Streams: int64(p.streams), Clock: clock.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return p.each(t, func() func() (time.Duration, error) {
		return func() (time.Duration, error) {
			r := measure.Record{Dispatched: c.config.Clock.Now()}
			c.Send(context.Background(), workload.Request{Body: []byte(pacedBody), OutputTokens: int64(p.events)}, &r, func() {})
			if r.Status != measure.OK || len(r.Chunks) != p.events {
				return 0, fmt.Errorf("status %s with %d chunks: %s", r.Status, len(r.Chunks), *r.Error)
			}
			return r.FirstToken.Sub(r.Dispatched), nil
		}
	})
}

// each runs the streams, their starts spread over one interval, and returns the times to the first token of all requests but those that open a
// connection.
func (p pace) each(t testing.TB, stream func() func() (time.Duration, error)) []time.Duration {
	results := make([][]time.Duration, p.streams)
	var all sync.WaitGroup
	for i := range results {
		if i%10 == 0 {
			time.Sleep(10 * p.every / time.Duration(p.streams))
		}
		all.Go(func() {
			once := stream()
			for round := range p.rounds {
				first, err := once()
				if err != nil {
					t.Error(err)
				}
				if round > 0 || p.rounds == 1 {
					results[i] = append(results[i], first)
				}
			}
		})
	}
	all.Wait()
	return slices.Concat(results...)
}

func residentBytes(t testing.TB) uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("resident memory is read from /proc")
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

// heldBytes is the memory that the runtime holds, less what it gave back.
func heldBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

const pacedBody = `{"model":"m","messages":[{"role":"user","content":"Write."}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":100}`

const pacedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"

const pacedEvent = `data: {"id":"chatcmpl-7f0c5d1e8a3b4c0f9b1d2e3f4a5b6c7d","object":"chat.completion.chunk","created":1763500000,` +
	`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null,"token_ids":null}]}` + "\n\n"

const pacedDone = "data: [DONE]\n\n"

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// pacedLength is the number of bytes of a whole response.
func pacedLength(events int) int {
	return len(pacedHead) + events*len(chunk(pacedEvent)) + len(chunk(pacedDone)) + len(chunk(""))
}

const pacedVariable = "SWEETSPOT_TEST_PACED" // set in the process that is the paced service

// TestMain makes this binary the paced service when it is started as one.
func TestMain(m *testing.M) {
	if text := os.Getenv(pacedVariable); text != "" {
		var p pace
		fmt.Sscan(text, &p.events, &p.every)
		servePaced(p)
		return
	}
	m.Run()
}

func startPaced(t testing.TB, p pace) string {
	service := exec.Command(os.Args[0])
	service.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", pacedVariable, p.events, p.every))
	service.Stderr = os.Stderr
	out, err := service.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Process.Kill(); service.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func servePaced(p pace) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	for {
		conn, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go p.answer(conn)
	}
}

// answer answers every request on conn until it is closed. A request is taken to have arrived once its body's last byte has.
func (p pace) answer(conn net.Conn) {
	defer conn.Close()
	event, end := []byte(chunk(pacedEvent)), []byte(chunk(pacedDone)+chunk(""))
	buf := make([]byte, 4<<10)
	for have := 0; ; {
		n, err := conn.Read(buf[have:])
		if err != nil {
			return
		}
		have += n
		if !strings.HasSuffix(string(buf[:have]), pacedBody) {
			continue
		}
		have = 0
		start := time.Now().Add(pacedPrefill)
		next := append([]byte(pacedHead), event...)
		for i := range p.events {
			time.Sleep(time.Until(start.Add(time.Duration(i) * p.every)))
			conn.Write(next)
			next = event
		}
		conn.Write(end)
	}
}
