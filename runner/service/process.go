package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a child in a process group of its own. It is told to stop by the end of its standard input.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	output  *tail
	close   func()        // what is to be done when it has ended
	done    chan struct{} // closed when it has ended
	err     error         // of its end; set before done is closed

	mu      sync.Mutex
	stopped bool
}

// The waits of a stop: for the child to end by itself, and then, told by a signal, again.
const (
	stopGrace = 4 * time.Second
	termGrace = time.Second
	pipeGrace = time.Second // for output of what it left behind
)

// startProcess starts argv with its standard input held open. What it writes goes to output, and to stdout first where that is given.
func startProcess(argv []string, output *tail, stdout io.Writer, onEnd func()) (*process, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no command line to start")
	}
	p := &process{command: exec.Command(argv[0], argv[1:]...), output: output, close: onEnd, done: make(chan struct{})}
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's interrupt is for the parent, which drains first
	p.command.Stdout, p.command.Stderr, p.command.WaitDelay = stdout, output, pipeGrace
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	if err := p.command.Start(); err != nil {
		return nil, err // it names the command
	}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	p.err = p.command.Wait()
	p.signal(syscall.SIGKILL) // what it may have left in its group
	p.close()
	close(p.done)
}

func (p *process) pid() int { return p.command.Process.Pid }

// signal sends a signal to the whole group.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid(), s) }

// ended is an error once the process has ended without being told to.
func (p *process) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.stopped {
		return nil
	}
	return p.death()
}

// death says how the process ended, with the end of its output.
func (p *process) death() error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	if said := p.output.String(); said != "" {
		return fmt.Errorf("process %d ended by itself (%s): %s", p.pid(), how, said)
	}
	return fmt.Errorf("process %d ended by itself (%s) and wrote nothing", p.pid(), how)
}

// stop ends the process: by closing its input, then by a signal, then by one that can't be refused. It returns when the process has ended.
func (p *process) stop(ctx context.Context) error {
	if err := p.ended(); err != nil {
		p.markStopped()
		return err
	}
	p.markStopped()
	_ = p.stdin.Close()
	if p.within(ctx, stopGrace) {
		return nil
	}
	p.signal(syscall.SIGTERM)
	if !p.within(ctx, termGrace) {
		p.signal(syscall.SIGKILL)
		<-p.done
	}
	return nil
}

func (p *process) markStopped() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// within waits for the end, no longer than grace or ctx.
func (p *process) within(ctx context.Context, grace time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
