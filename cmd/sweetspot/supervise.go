package main

import (
	"errors"
	"os"

	"sweetspot/runner/service"
)

// superviseCmd is the process that owns a service which run starts: see service.Supervise.
type superviseCmd struct{}

// Run is the command.
func (superviseCmd) Run(p *process) error {
	output, ok := p.stderr.(*os.File)
	if !ok {
		return errors.New("a supervisor needs a file to write its service's output to")
	}
	return service.Supervise(p.stdin, p.stdout, output)
}
