package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// Calibration is what this client could do on one machine, beside the simulated service on the same machine. Times are in seconds. A figure that is
// not known is nil and written as null.
type Calibration struct {
	Format      string    `json:"format"` // [CalibrationFormat]
	MeasuredAt  time.Time `json:"measured_at"`
	ToolVersion string    `json:"tool_version"`
	Host        Host      `json:"host"`
	StreamRate  float64   `json:"events_per_s_stream"` // of each stream
	Levels      []Level   `json:"levels"`              // by streams, ascending
}

// CalibrationFormat names the format of a calibration and its version.
const CalibrationFormat = "sweetspot-calibration/1"

// Host is the machine.
type Host struct {
	Name      string `json:"name"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel"`
	CPUs      int    `json:"cpus"`
	GoVersion string `json:"go_version"`
}

// Level is what was seen with so many streams. Requests that were started while the streams were brought up are not in it.
//
// Where there are fewer than 100 stamps, their greatest lag stands for the 99th percentile: it can't be above that.
type Level struct {
	Streams         int64    `json:"streams"`
	Requests        int64    `json:"requests"`
	EventsPerSecond float64  `json:"events_per_s"`
	CPUPerEvent     float64  `json:"cpu_per_event_s"`       // CPU time of the client
	CPUShare        *float64 `json:"client_cpu_share"`      // over the time that the machine's processors had, 0 to 1
	BytesPerStream  *float64 `json:"bytes_per_stream"`      // peak of resident memory above the idle process; null below 64 streams
	FirstLagP50     *float64 `json:"first_token_lag_p50_s"` // the client's stamp of a first token after the service's write of it
	FirstLagP99     *float64 `json:"first_token_lag_p99_s"`
	ChunkLagP50     *float64 `json:"chunk_lag_p50_s"` // the same of every event with a token
	ChunkLagP99     *float64 `json:"chunk_lag_p99_s"`
	SchedulingP99   *float64 `json:"client_lag_p99_s"` // how late a goroutine that sleeps was run
	Error           *string  `json:"error"`            // why the level could not be measured; its figures are then none
}

// CalibrateConfig says what [Calibrate] measures.
type CalibrateConfig struct {
	Streams     []int64       // levels, ascending
	Duration    time.Duration // for which requests are started at each level, after its streams are up
	Self        []string      // command line that runs service.ServeChild
	ToolVersion string
	Progress    func(Level) // is told each level when it has been measured; nil: nobody is
}

// The load of a calibration: what a chat feels like to its reader, with ends spread out.
const (
	calibrationFirst    = 100 * time.Millisecond
	calibrationInterval = 50 * time.Millisecond
	calibrationTokens   = 20
)

// Calibrate measures this process as a client, level by level, each against a simulated service of its own. It ends after the first level that
// could not be measured, which is then the last; more streams would be no easier. An error is ctx's, or that a service could not be started.
func Calibrate(ctx context.Context, c CalibrateConfig) (Calibration, error) {
	cal := Calibration{
		Format: CalibrationFormat, MeasuredAt: time.Now().UTC(), ToolVersion: c.ToolVersion, Host: thisHost(),
		StreamRate: float64(time.Second / calibrationInterval),
	}
	for _, streams := range c.Streams {
		level, err := c.level(ctx, streams)
		if ctx.Err() != nil {
			return cal, context.Cause(ctx)
		}
		if err != nil {
			text := err.Error()
			level = Level{Streams: streams, Error: &text}
		}
		cal.Levels = append(cal.Levels, level)
		if c.Progress != nil {
			c.Progress(level)
		}
		if err != nil {
			break
		}
	}
	return cal, nil
}

func (c CalibrateConfig) level(ctx context.Context, streams int64) (level Level, err error) {
	if err := enoughDescriptors(streams); err != nil {
		return Level{}, err
	}
	dir, err := os.MkdirTemp("", "sweetspot-calibrate-")
	if err != nil {
		return Level{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l := Load{Streams: streams, Duration: c.Duration, Tokens: calibrationTokens, FirstToken: calibrationFirst, Interval: calibrationInterval}
	l.Spread = l.answer()
	truth := filepath.Join(dir, "truth.jsonl")
	s, err := startService(ctx, c.Self, l, truth)
	if err != nil {
		return Level{}, err
	}
	outcome, used, err := engineHere(ctx, s.URLs[0], l)
	if err := errors.Join(err, s.Stop(ctx)); err != nil {
		return Level{}, err
	}
	seen, err := exchangesOf(outcome)
	if err != nil {
		return Level{}, err
	}
	f, err := matchFile(seen, truth)
	if err != nil {
		return Level{}, fmt.Errorf("holding the client's stamps against the service's log: %w", err)
	}
	level = levelOf(l, resultOf(l, used, seen, f), f, outcome.Health)
	level.EventsPerSecond = eventRate(seen, c.Duration)
	return level, nil
}

// eventRate is how many events with a token came in a second, while requests were started.
func eventRate(seen []Exchange, whole time.Duration) float64 {
	var from clock.Instant
	for _, e := range seen {
		if !e.Spread && (!from.Happened() || e.Dispatched < from) {
			from = e.Dispatched
		}
	}
	if !from.Happened() {
		return 0
	}
	events := 0
	for _, e := range seen {
		for _, offset := range e.Chunks {
			if after := e.Dispatched.Add(time.Duration(offset)).Sub(from); after >= 0 && after < whole {
				events++
			}
		}
	}
	return float64(events) / whole.Seconds()
}

// engineHere drives the engine in this process, and takes what it used.
func engineHere(ctx context.Context, url string, l Load) (outcome measure.Outcome, used usage, err error) {
	debug.FreeOSMemory() // what the level before left is not this one's
	forgetPeak()
	used.GOMAXPROCS, used.IdleBytes = runtime.GOMAXPROCS(0), memory("VmRSS")
	before := clock.Processor()
	if outcome, err = runEngine(ctx, url, l); err != nil {
		return outcome, usage{}, err
	}
	used.CPU, used.PeakBytes = clock.Processor()-before, memory("VmHWM")
	return outcome, used, nil
}

// forgetPeak has the peak of resident memory begin anew, where the system lets it: otherwise levels after a larger one read too much.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// leastForMemory is the fewest streams whose memory can be told from the process's own.
const leastForMemory = 64

func levelOf(l Load, r Result, f Fidelity, h measure.Health) Level {
	level := Level{
		Streams: l.Streams, Requests: int64(len(f.First)), CPUPerEvent: r.CPUPerEvent, CPUShare: h.CPUShare,
		FirstLagP50: measure.Quantile(f.First, 50), FirstLagP99: high(f.First), ChunkLagP50: measure.Quantile(f.Chunk, 50), ChunkLagP99: high(f.Chunk),
		SchedulingP99: h.LagP99,
	}
	if l.Streams >= leastForMemory {
		level.BytesPerStream = r.BytesPerStream
	}
	return level
}

// high is the 99th percentile of sorted values, or the greatest where there are too few to know it; nil where there are none.
func high(sorted []float64) *float64 {
	if p99 := measure.Quantile(sorted, 99); p99 != nil || len(sorted) == 0 {
		return p99
	}
	return &sorted[len(sorted)-1]
}

// spareDescriptors are what a process holds open beside its streams.
const spareDescriptors = 64

func enoughDescriptors(streams int64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit on open files: %w", err)
	}
	if need := uint64(streams + spareDescriptors); limit.Cur < need {
		return fmt.Errorf("the limit on open files is %d, and %d streams need %d: raise it with ulimit -n %d", limit.Cur, streams, need, need)
	}
	return nil
}

func thisHost() Host {
	name, _ := os.Hostname() // a host without a name has none
	h := Host{Name: name, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GoVersion: runtime.Version()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return h
}
