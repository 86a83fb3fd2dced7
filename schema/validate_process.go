package schema

import (
	"regexp"
	"strings"
)

// process checks what of a service that is started lies between its fields, and that no secret stands in a command line.
func process(spec *node, p *Process) Problems {
	n := spec.at(path{"service", "process"})
	if p == nil || n == nil {
		return nil
	}
	c := processChecker{n: n, p: p}
	c.shape()
	c.url()
	c.secrets()
	return c.problems
}

type processChecker struct {
	n        *node
	p        *Process
	problems Problems
}

func (c *processChecker) report(at place, message string) {
	c.problems = append(c.problems, at.problem(message))
}

// at is where a field of the process stands.
func (c *processChecker) at(names ...string) place {
	if n := c.n.at(names); n != nil {
		return n.place
	}
	return c.n.place
}

// shape holds that the service can be started and ended.
func (c *processChecker) shape() {
	foreground, returns := c.p.Command != nil, c.p.Start != nil
	switch {
	case !foreground && !returns:
		c.report(c.n.place, "must hold command, which serves in the foreground, or start, which brings a service up and returns")
	case foreground && c.p.Stop.Command != nil:
		c.report(c.at("stop", "command"), "goes with start only: what command serves is ended by a signal")
	case returns && c.p.Stop.Command == nil:
		c.report(c.at("start"), "needs stop.command, which ends what it began")
	}
}

// url holds that the URL of the service will be known.
func (c *processChecker) url() {
	if _, err := regexp.Compile(c.p.URLPattern); err != nil {
		c.report(c.at("url_pattern"), "must be a regular expression: "+err.Error())
	}
	matched := strings.Contains(c.p.URL, MatchPlace)
	switch {
	case c.p.Start != nil && c.p.URL == "" && c.p.URLPattern == "":
		c.report(c.at("start"), "needs url, the base of the service's API, or url_pattern, which finds it in what start writes")
	case matched && c.p.URLPattern == "":
		c.report(c.at("url"), "has ${MATCH} in it, and url_pattern is not set")
	case c.p.URLPattern != "" && c.p.URL != "" && !matched:
		c.report(c.at("url_pattern"), "has no effect beside a url without ${MATCH}: keep one of them")
	}
}

// secretFlag is a flag whose value is a secret.
var secretFlag = lazy(`(?i)^--?(api[-_]?key|password|secret|token|hf[-_]?token|auth[-_]?token|access[-_]?token)(=.*)?$`)

// secrets looks for what must not stand in a command line, which any user of the machine can read, and is stored.
func (c *processChecker) secrets() {
	for _, name := range [][]string{{"command"}, {"start"}, {"log"}, {"stop", "command"}} {
		c.without(c.n.at(name))
	}
	if args := c.n.get("args"); args != nil {
		for _, f := range args.fields {
			c.without(f.value)
		}
	}
	if env := c.n.get("env"); env != nil {
		for _, f := range env.fields {
			c.without(f.value)
		}
	}
}

func (c *processChecker) without(n *node) {
	switch {
	case n == nil:
	case n.kind == list:
		for _, item := range n.items {
			c.without(item)
		}
	case n.kind == text && (secretFlag().MatchString(n.literal) || RedactText(n.literal) != n.literal):
		c.report(n.place, `holds a secret, or what looks like one: give it to the command in env, {NAME: {env: "NAME"}}`)
	}
}
