package gpu

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

const (
	command  = "nvidia-smi"
	patience = 10 * time.Second // for the first readings: without a persistent driver it is loaded for them
	mostLine = 4 << 10          // bytes
)

// arguments ask for a line per GPU, twice a second.
var arguments = []string{
	"--query-gpu=index,uuid,name,utilization.gpu,memory.used,memory.total,power.draw,clocks.sm,temperature.gpu",
	"--format=csv,noheader,nounits", "--loop-ms=500",
}

// ErrNone is that this machine has no nvidia-smi, and so most likely no GPU of NVIDIA's.
var ErrNone = errors.New("there is no nvidia-smi on this machine")

// Local watches GPUs of this machine with nvidia-smi, which is started once and ends with the watcher or with this process. devices are their numbers,
// nil for all. It returns when each of them has been read once. An error is [ErrNone], or says why they can't be read; nothing is left running then.
func Local(ctx context.Context, devices []int64, c clock.Clock) (*Watcher, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return nil, ErrNone
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &Watcher{clock: c, devices: devices}
	read, ended := make(chan struct{}), make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ended <- w.run(ctx, path, read)
	}()
	w.stop = func() {
		cancel()
		<-over
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-read:
		return w, nil
	case err = <-ended:
	case <-timer.C:
		err = fmt.Errorf("it showed none of the GPUs that are to be watched within %v", patience)
	}
	w.stop()
	return nil, fmt.Errorf("watching the GPUs with nvidia-smi: %w", err)
}

// run runs nvidia-smi until ctx is done, and closes read when each GPU has been read. Its thread lives as long, since the process is ended with the
// thread that started it.
func (w *Watcher) run(ctx context.Context, path string, read chan<- struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said bytes.Buffer
	process := exec.Command(path, arguments...)
	process.SysProcAttr, process.Stderr, process.WaitDelay = apart(), &limited{to: &said}, time.Second
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	kill := func() { _ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL) } // its group: it may be a script
	unwatched := context.AfterFunc(ctx, kill)
	defer unwatched()
	text := w.read(out, read)
	kill()
	err = process.Wait()
	switch {
	case said.Len() > 0:
		return errors.New(firstLine(said.String()))
	case text != "":
		return errors.New(text)
	case err != nil:
		return err
	}
	return errors.New("it ended")
}

// read takes lines until their end. It returns the last that it did not understand.
func (w *Watcher) read(out io.Reader, read chan<- struct{}) (strange string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, mostLine), mostLine)
	whole := false
	for lines.Scan() {
		s, ok := parse(lines.Text())
		if !ok {
			strange = firstLine(lines.Text())
			continue
		}
		s.At = w.clock.Now()
		if w.add(s) && !whole {
			whole = true
			close(read)
		}
	}
	return strange
}

// parse reads a line of nvidia-smi. What the GPU does not say, such as "[N/A]", is nil.
func parse(line string) (measure.GPUSample, bool) {
	cells := strings.Split(line, ",")
	const wanted = 9
	if len(cells) != wanted {
		return measure.GPUSample{}, false
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	index, err := strconv.ParseInt(cells[0], 10, 64)
	if err != nil || cells[1] == "" {
		return measure.GPUSample{}, false
	}
	return measure.GPUSample{
		Index: &index, UUID: &cells[1], Name: &cells[2],
		Utilization: share(cells[3]), MemoryUsed: whole(cells[4], mebibyte), MemoryTotal: whole(cells[5], mebibyte),
		Power: number(cells[6], 1), SMClock: number(cells[7], megahertz), Temperature: number(cells[8], 1),
	}, true
}

const (
	mebibyte  = 1 << 20
	megahertz = 1e6
)

// number reads a figure that is not below 0 in units of so much.
func number(text string, unit float64) *float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value < 1e12) {
		return nil
	}
	value *= unit
	return &value
}

// share reads a percentage.
func share(text string) *float64 {
	value := number(text, 0.01)
	if value == nil || *value > 1 {
		return nil
	}
	return value
}

func whole(text string, unit float64) *int64 {
	value := number(text, unit)
	if value == nil {
		return nil
	}
	n := int64(*value)
	return &n
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// limited drops what is written behind the first few bytes.
type limited struct{ to *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.to.Write(p[:min(len(p), max(0, mostLine-l.to.Len()))])
	return len(p), nil
}
