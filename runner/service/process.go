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
	output  *output
	onEnd   func()        // is called when it has ended
	done    chan struct{} // closed when it has ended
	err     error         // of its end; set before done is closed

	grace time.Duration // of a stop: for the child to end by itself
	haste time.Duration // and then, told by a signal, again

	mu      sync.Mutex
	stopped bool
}

// pipeGrace is how long output of what a child left behind is waited for.
const pipeGrace = time.Second

// newProcess is a child that is not started yet. What it writes goes to out, and to stdout first where that is given.
func newProcess(argv []string, out *output, stdout io.Writer) (*process, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no command line to start")
	}
	p := &process{command: exec.Command(argv[0], argv[1:]...), output: out, done: make(chan struct{}), onEnd: func() {}}
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's interrupt is for the parent, which drains first
	p.command.Stdout, p.command.Stderr, p.command.WaitDelay = stdout, out, pipeGrace
	return p, nil
}

// start starts it with its standard input held open. From then on it closes its output when it has ended.
func (p *process) start() error {
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return fmt.Errorf("starting %s: %w", p.command.Path, err)
	}
	if err := p.command.Start(); err != nil {
		return err // it names the command
	}
	go p.wait()
	return nil
}

func (p *process) wait() {
	p.err = p.command.Wait()
	p.signal(syscall.SIGKILL) // what it may have left in its group
	p.onEnd()
	p.output.close()
	close(p.done)
}

func (p *process) pid() int { return p.command.Process.Pid }

// signal sends a signal to the whole group.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid(), s) }

// over is closed when it has ended.
func (p *process) over() <-chan struct{} { return p.done }

// ended is an error once the process has ended without being told to.
func (p *process) ended() error {
	if p.isStopped() {
		return nil
	}
	select {
	case <-p.done:
		return p.death()
	default:
		return nil
	}
}

// death says how the process ended, with the end of its output.
func (p *process) death() error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return died(p.pid(), how, p.output)
}

func died(pid int, how string, out *output) error {
	if said := out.String(); said != "" {
		return fmt.Errorf("process %d ended by itself (%s): %s", pid, how, said)
	}
	return fmt.Errorf("process %d ended by itself (%s) and wrote nothing", pid, how)
}

// stop ends the process: by closing its input, then by a signal, then by one that can't be refused. It returns when the process has ended.
func (p *process) stop(ctx context.Context) error {
	err := p.ended()
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	if err != nil {
		return err
	}
	_ = p.stdin.Close()
	if p.within(ctx, p.grace) {
		return nil
	}
	p.signal(syscall.SIGTERM)
	if !p.within(context.WithoutCancel(ctx), p.haste) {
		p.signal(syscall.SIGKILL)
		<-p.done
	}
	return nil
}

func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
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
