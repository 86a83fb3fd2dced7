package simulator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sweetspot/runner/clock"
)

// The benchmark's load: every stream is one request after another of so many tokens, 50 ms apart, with [DONE] behind them.
const (
	costTokens   = 60
	costInterval = 50 * time.Millisecond
)

// TestMain runs the benchmark's services when the test binary is started as one of them.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "cost-service" {
		if err := costService(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// costService serves what is compared until its standard input ends: "bare" is the least that any such server does, "paced" and "model" are
// the simulated service, with its log.
func costService(kind string) error {
	truth, err := os.CreateTemp("", "cost-*.jsonl")
	if err != nil {
		return err
	}
	defer os.Remove(truth.Name())
	o := Options{Model: "tiny", Clock: clock.New(), Log: truth}
	if kind == "paced" {
		o.Paced = &Paced{FirstToken: costInterval, Interval: costInterval, Tokens: costTokens}
	}
	cfg := Config{MaxNumSeqs: 1000, MaxNumBatchedTokens: 1 << 20, MaxModelLen: 1 << 12, BlockSize: 16, NumGPUBlocks: 1 << 16,
		EnablePrefixCaching: true, EnableChunkedPrefill: true, StreamInterval: 1, Cost: Cost{Step: costInterval}}
	handler := newServer(cfg, "cost", o).Handler()
	if kind == "bare" {
		handler = http.HandlerFunc(bare)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cpu", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, clock.Processor().Nanoseconds())
	})
	mux.Handle("/", handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() { _ = http.Serve(l, mux) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// bare sleeps, writes and flushes.
func bare(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	var e encoder
	e.reset(apiChat, layout{visible: costTokens, total: costTokens}, answer{}, true, "1", "tiny", 1796016106)
	event := slices.Clone(e.tokens(1, 2, "", nil))
	flush := http.NewResponseController(w).Flush
	began := time.Now()
	for n := range costTokens {
		time.Sleep(time.Until(began.Add(time.Duration(n+1) * costInterval))) // on schedule, as what it is compared with
		_, _ = w.Write(event)
		_ = flush()
	}
	_, _ = w.Write([]byte(doneFrame))
}

// BenchmarkCostPerEvent compares the CPU time that the service takes for an event with that of a bare handler, each as a process of its own
// under the same clients. One iteration takes about 15 s:
//
//	go test ./runner/simulator -run '^$' -bench CostPerEvent -benchtime 3x
func BenchmarkCostPerEvent(b *testing.B) {
	for _, streams := range []int{64, 200, 500} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			costs := map[string][]float64{}
			for b.Loop() {
				for _, kind := range []string{"bare", "paced", "model"} {
					costs[kind] = append(costs[kind], costOf(b, kind, streams))
				}
			}
			b.ReportMetric(0, "ns/op")
			for kind, all := range costs {
				b.ReportMetric(middle(all), kind+"-µs/event")
			}
			b.ReportMetric(middle(costs["paced"])/middle(costs["bare"]), "paced/bare")
			b.ReportMetric(middle(costs["model"])/middle(costs["bare"]), "model/bare")
		})
	}
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// costOf is the CPU time of one kind of service per event, in microseconds.
func costOf(b *testing.B, kind string, streams int) float64 {
	b.Helper()
	child := exec.CommandContext(b.Context(), os.Args[0], "cost-service", kind)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		stdin.Close()
		_ = child.Wait()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	addr := strings.TrimSpace(line)
	costLoad(b, addr, streams, 1) // connections, pools and code are warm
	before := cpuOf(b, addr)
	events := costLoad(b, addr, streams, 1)
	return float64((cpuOf(b, addr) - before).Microseconds()) / float64(events)
}

func cpuOf(b *testing.B, addr string) time.Duration {
	b.Helper()
	resp, err := http.Get("http://" + addr + "/cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(ns)
}

// costLoad drives streams over connections of their own, their starts spread over an interval, and returns how many token events it read.
func costLoad(b *testing.B, addr string, streams, requests int) int {
	b.Helper()
	var all sync.WaitGroup
	read := make([]int, streams)
	for i := range streams {
		all.Go(func() {
			time.Sleep(costInterval * time.Duration(i) / time.Duration(streams))
			var err error
			if read[i], err = costStream(b.Context(), addr, requests); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	events := 0
	for _, n := range read {
		events += n
	}
	if want := streams * requests * costTokens; events != want {
		b.Fatalf("%d events, want %d", events, want)
	}
	return events
}

func costStream(ctx context.Context, addr string, requests int) (events int, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	body := ask(fmt.Sprintf(`"max_tokens":%d,"stream":true`, costTokens))
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", chatPath, len(body), body)
	buf := make([]byte, 16<<10)
	for range requests {
		if _, err := io.WriteString(conn, request); err != nil {
			return events, err
		}
		for done := false; !done; {
			n, err := conn.Read(buf)
			if err != nil {
				return events, err
			}
			text := string(buf[:n])
			events += strings.Count(text, `"content":"`) - strings.Count(text, `"content":""`)
			done = strings.HasSuffix(text, "0\r\n\r\n")
		}
	}
	return events, nil
}
