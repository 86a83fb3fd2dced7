package service

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sweetspot/schema"
)

// orders are what a supervisor is told, as JSON on its standard input. They hold the environment, and so secrets: no command line does.
type orders struct {
	Command line     `json:"command"`
	Returns bool     `json:"returns"` // the command brings a service up and returns
	Log     line     `json:"log"`     // goes on writing a service's log once it is up; empty: none
	Stop    line     `json:"stop"`    // ends what a command that returns began
	Env     []string `json:"env"`
	Signal  string   `json:"signal"` // as a preset names it
	Grace   int64    `json:"grace_ns"`
}

// line is a command line and the file that it runs.
type line struct {
	Path  string   `json:"path"`
	Words []string `json:"words"`
}

// report is what a supervisor says, as lines of JSON on its standard output. One of its fields is set, or Up beside Down.
type report struct {
	Started  int     `json:"started,omitempty"`  // the process of the command
	Returned *string `json:"returned,omitempty"` // the end of what the command that returns wrote, once it has, without fault
	Ended    string  `json:"ended,omitempty"`    // how the command ended by itself, or why it could not be started
	Down     bool    `json:"down,omitempty"`     // the command that stops the service was run
	Up       string  `json:"up,omitempty"`       // why the service may not be down after it
	Left     []int   `json:"left,omitempty"`     // processes that could not be ended
}

// The waits of a supervisor that a preset does not set.
const (
	outputGrace = time.Second            // for the rest of the output of a command that returned
	killPause   = 100 * time.Millisecond // between looks at what was killed
	killGrace   = 10 * time.Second       // until what was killed is gone: a process that waits for a device may never be
)

// mostOutput is how much of the end of what a command that returns wrote is kept.
const mostOutput = 64 << 10

// stopFault begins what is said of the command that stops a service, where that went wrong.
const stopFault = "the command that stops the service"

var stopSignals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
}

// Supervise is a process that owns a service: it is told on stdin what to start, and ends it, with every process that came of it, when stdin ends.
// So nothing is left of the service when the process at the other end of stdin ends, in whatever way. A first SIGTERM, SIGINT or SIGHUP does the
// same, without patience. What it starts writes to output; what is to be known of it goes to stdout. It returns when all have ended.
//
// On Linux it adopts processes that leave their group and parent. Elsewhere those are not found.
func Supervise(stdin io.Reader, stdout io.Writer, output *os.File) error {
	runtime.LockOSThread() // see apart
	defer runtime.UnlockOSThread()
	input := json.NewDecoder(stdin)
	s := &supervisor{
		tell: json.NewEncoder(stdout), output: output, ended: map[int]syscall.WaitStatus{},
		hurry: make(chan os.Signal, 1), children: make(chan os.Signal, 1),
	}
	if err := input.Decode(&s.orders); err != nil {
		return fmt.Errorf("reading what is to be supervised: %w", err)
	}
	if err := adopt(); err != nil {
		return fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	signal.Notify(s.children, syscall.SIGCHLD)
	signal.Notify(s.hurry, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // nobody may be left to write to; to ignore it would be inherited
	lost := make(chan struct{})
	s.lost = lost
	go func() {
		defer close(lost)
		_, _ = io.Copy(io.Discard, stdin)
	}()
	return s.run()
}

// supervisor starts and waits in one goroutine.
type supervisor struct {
	orders orders
	tell   *json.Encoder
	output *os.File

	lost     <-chan struct{} // closed when the process that gave the orders is gone, or wants the end
	hurry    chan os.Signal  // once: the end is to come at once
	children chan os.Signal  // a child may have ended
	hurried  bool

	known []int                      // the processes that were started here, each the leader of a group
	ended map[int]syscall.WaitStatus // those of them that have ended
	none  bool                       // no child is left: on Linux, no process below this one
}

func (s *supervisor) run() error {
	main, output, err := s.start(s.orders.Command, s.orders.Returns)
	if err != nil {
		s.say(report{Ended: err.Error()})
		return nil
	}
	s.say(report{Started: main})
	s.wait(0, true, func() bool { return s.hasEnded(main) })
	status, ended := s.ended[main]
	switch {
	case s.orders.Returns && ended && status.ExitStatus() == 0:
		returned := output.end()
		s.say(report{Returned: &returned})
		s.serve(returned)
		s.takeDown(returned)
	case ended:
		s.say(report{Ended: describe(status)})
		s.takeDown("")
	case s.orders.Returns:
		s.sweep(syscall.SIGTERM, time.Second)
		s.takeDown(output.end())
	}
	return s.sweep(stopSignals[s.orders.Signal], s.patience(ended && !s.orders.Returns))
}

// patience is how long processes may take to end: not at all where the one that they belong to has ended by itself.
func (s *supervisor) patience(crashed bool) time.Duration {
	if crashed || s.hurried {
		return 0
	}
	return time.Duration(s.orders.Grace)
}

// serve waits for the end of a service that a command brought up.
func (s *supervisor) serve(returned string) {
	if len(s.orders.Log.Words) > 0 {
		if _, _, err := s.start(s.orders.Log.with(returned), false); err != nil {
			fmt.Fprintln(s.output, "following the log:", err)
		}
	}
	s.wait(0, true, func() bool { return false })
}

// takeDown runs the command that ends what a command that returns began, whether or not that went well. It is given its time even in a hurry: what it
// ends may cost money.
func (s *supervisor) takeDown(returned string) {
	if !s.orders.Returns || len(s.orders.Stop.Words) == 0 {
		return
	}
	pid, _, err := s.start(s.orders.Stop.with(returned), false)
	if err != nil {
		s.say(report{Down: true, Up: stopFault + ": " + err.Error()})
		return
	}
	gone := s.wait(time.Duration(s.orders.Grace), false, func() bool { return s.hasEnded(pid) })
	switch status := s.ended[pid]; {
	case !gone:
		s.say(report{Down: true, Up: stopFault + " did not return after " + time.Duration(s.orders.Grace).String()})
	case status.ExitStatus() != 0:
		s.say(report{Down: true, Up: stopFault + ": " + describe(status)})
	default:
		s.say(report{Down: true})
	}
}

// with is a command line with the last line of what the command wrote that returned.
func (l line) with(returned string) line {
	words := slices.Clone(l.Words)
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, schema.OutputPlace, lastLine(returned))
	}
	return line{l.Path, words}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// sweep ends every process that is left: by a signal, and after grace by one that can't be refused.
func (s *supervisor) sweep(first syscall.Signal, grace time.Duration) error {
	if grace > 0 {
		s.signal(first)
		s.wait(grace, true, func() bool { return s.none })
	}
	for deadline := time.Now().Add(killGrace); !s.none && time.Now().Before(deadline); {
		s.signal(syscall.SIGKILL)
		s.wait(killPause, false, func() bool { return s.none })
	}
	if left := below(s.alive()); !s.none && len(left) > 0 {
		s.say(report{Left: left})
		return fmt.Errorf("processes %v could not be killed", left)
	}
	return nil
}

func (s *supervisor) signal(which syscall.Signal) {
	for _, pid := range below(s.alive()) {
		_ = syscall.Kill(pid, which)
	}
}

// alive are the processes that were started here and of whose group something is left. The others are forgotten: their numbers may be given anew.
func (s *supervisor) alive() []int {
	s.known = slices.DeleteFunc(s.known, func(pid int) bool { return syscall.Kill(-pid, 0) == syscall.ESRCH })
	return s.known
}

// wait reaps children until done, and reports whether it is. It ends early after limit, where that is above 0, and where it is stoppable, when the end
// is wanted, or wanted at once.
func (s *supervisor) wait(limit time.Duration, stoppable bool, done func() bool) bool {
	var after <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		after = timer.C
	}
	lost, hurry := s.lost, s.hurry
	if !stoppable {
		lost, hurry = nil, nil
	}
	for {
		s.reap()
		if done() {
			return true
		}
		select {
		case <-s.children:
		case <-after:
			return false
		case <-lost:
			s.lost = nil // it is known now
			return false
		case <-hurry:
			s.hurried = true
			return false
		}
	}
}

// reap takes note of the children that have ended.
func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.ECHILD:
			s.none = nothingBelow(s.alive())
			return
		case pid <= 0:
			s.none = false
			return
		case slices.Contains(s.known, pid):
			s.ended[pid] = status
		}
	}
}

func (s *supervisor) hasEnded(pid int) bool {
	_, ended := s.ended[pid]
	return ended
}

// start starts a command in a group of its own. Its output is the supervisor's; where it is kept, what it writes to standard output is too.
func (s *supervisor) start(what line, keep bool) (int, *kept, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close()
	out := s.output
	var output *kept
	if keep {
		reader, writer, err := os.Pipe()
		if err != nil {
			return 0, nil, err
		}
		defer writer.Close()
		out, output = writer, keepOutput(reader, s.output)
	}
	pid, err := syscall.ForkExec(what.Path, what.Words, &syscall.ProcAttr{
		Env: s.orders.Env, Files: []uintptr{null.Fd(), out.Fd(), s.output.Fd()}, Sys: apart(),
	})
	if err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", what.Path, err)
	}
	s.known, s.none = append(s.known, pid), false
	return pid, output, nil
}

func (s *supervisor) say(r report) { _ = s.tell.Encode(r) } // nobody may be left to hear it

// groups are process groups as signals are sent to them.
func groups(leaders []int) []int {
	all := make([]int, len(leaders))
	for i, pid := range leaders {
		all[i] = -pid
	}
	return all
}

// describe says how a process ended, as package os does.
func describe(status syscall.WaitStatus) string {
	switch {
	case status.Signaled() && status.CoreDump():
		return "signal: " + status.Signal().String() + " (core dumped)"
	case status.Signaled():
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// kept is the end of what a command writes, which is passed on.
type kept struct {
	mu   sync.Mutex
	text []byte
	done chan struct{} // closed at the end of the output
}

func keepOutput(from io.ReadCloser, to io.Writer) *kept {
	k := &kept{done: make(chan struct{})}
	go func() {
		defer close(k.done)
		defer from.Close()
		_, _ = io.Copy(io.MultiWriter(k, to), from)
	}()
	return k
}

// Write keeps the end of what was written.
func (k *kept) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = append(k.text, b...)
	k.text = k.text[max(0, len(k.text)-mostOutput):]
	return len(b), nil
}

// end waits for the rest of the output, no longer than a moment: what the command left running may hold it open.
func (k *kept) end() string {
	timer := time.NewTimer(outputGrace)
	defer timer.Stop()
	select {
	case <-k.done:
	case <-timer.C:
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.text)
}
