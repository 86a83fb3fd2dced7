package presets

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// Command is the command line that the service of a run's winner was started with, secrets redacted. An error says why there is none.
func Command(run *results.Run) (string, error) {
	document, _, err := pipeline.Read(run, nil)
	if err != nil {
		return "", err
	}
	if !final(document.Status) {
		return "", fmt.Errorf("run %s is %s: it has no winner before all of it was measured", run.ID(), document.Status)
	}
	if document.Winner == nil {
		return "", fmt.Errorf("run %s (%s) has no winner, so there is no service to name", run.ID(), document.Status)
	}
	m := run.Manifest()
	for i := range document.Trials {
		if document.Trials[i].TrialID == *document.Winner {
			return commandOf(specOf(&m, i))
		}
	}
	return "", fmt.Errorf("run %s: its winner %s is none of its trials", run.ID(), *document.Winner)
}

// commandOf is the command line of a trial's service.
func commandOf(spec schema.Spec) (string, error) {
	switch s := spec.Service; {
	case s.Endpoint != nil:
		return "", fmt.Errorf("sweetspot did not start the winner's service: it was running at %s", s.Endpoint.URL)
	case s.Process != nil:
		return processCommand(s.Process), nil
	case s.Simulator != nil:
		return simulatorCommand(s.Simulator, spec.Model)
	}
	return "", errors.New("the run does not say how its winner's service was started")
}

// processCommand is what a service was started with: the variables that the preset sets, and the words of its command. A port that was free stays ${PORT}.
func processCommand(p *schema.Process) string {
	line := visible(strings.Join(append(p.EnvWords(), p.Commands()[0]), " "))
	if p.Port != nil {
		line = strings.ReplaceAll(line, schema.PortPlace, fmt.Sprint(*p.Port))
	}
	return line
}

// simulatorCommand is what starts a simulated service by hand. What simulate has no flag for is told to it as the run told it, on standard input.
func simulatorCommand(s *schema.Simulator, model string) (string, error) {
	plain := schema.Simulator{Profile: s.Profile, Seed: s.Seed}
	asked, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("writing the service's command line: %w", err)
	}
	simple, err := json.Marshal(plain)
	if err != nil {
		return "", fmt.Errorf("writing the service's command line: %w", err)
	}
	if string(asked) == string(simple) {
		words := []string{"sweetspot", "simulate", "--profile", s.Profile, "--model", model}
		if s.Seed != 0 {
			words = append(words, fmt.Sprintf("--seed=%d", s.Seed))
		}
		return shellLine(words), nil
	}
	told, err := json.Marshal(map[string]any{"model": model, "simulator": s})
	if err != nil {
		return "", fmt.Errorf("writing the service's command line: %w", err)
	}
	return fmt.Sprintf("(printf '%%s\\n' %s; cat) | sweetspot simulate --child", shellQuoted(string(told))), nil
}

var needsNoQuotes = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellLine writes words so that a shell reads them back.
func shellLine(words []string) string {
	written := make([]string, len(words))
	for i, word := range words {
		written[i] = shellQuoted(word)
	}
	return strings.Join(written, " ")
}

func shellQuoted(word string) string {
	if needsNoQuotes.MatchString(word) {
		return word
	}
	return visible("'" + strings.ReplaceAll(word, "'", `'\''`) + "'")
}

// visible is a command line in which characters that a terminal does not show, or obeys, are written out: a shell reads $'\x1b' as the character. Within single
// quotes it comes between the ends of two of them.
func visible(line string) string {
	var b strings.Builder
	quoted := false
	for _, r := range line {
		if r == '\'' {
			quoted = !quoted
		}
		if r == ' ' || r == '\n' || r == '\t' || schema.Printable(string(r)) == string(r) {
			b.WriteRune(r)
			continue
		}
		var written strings.Builder
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&written, `\x%02x`, c)
		}
		text := "$'" + written.String() + "'"
		if quoted {
			text = "'" + text + "'"
		}
		b.WriteString(text)
	}
	return b.String()
}
