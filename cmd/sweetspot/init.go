package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sweetspot/presets"
	"sweetspot/runner/service"
	"sweetspot/schema"
)

// initCmd writes a preset to start from.
type initCmd struct {
	File string `arg:"" optional:"" help:"File to write, ending in .cue; it must not exist."`

	URL       string `name:"url" placeholder:"URL" xor:"from" help:"Base of a running service's API, such as http://127.0.0.1:8000/v1: its first model is asked for."`
	Model     string `placeholder:"NAME" help:"Model to take in the place of its first."`
	APIKeyEnv string `name:"api-key-env" placeholder:"NAME" help:"Environment variable that holds the service's key."`
	From      string `placeholder:"PRESET" xor:"from" help:"Copy a preset that ships with sweetspot: see --list."`
	List      bool   `xor:"from" help:"List the presets that ship with sweetspot."`
}

// Run is the command.
func (c *initCmd) Run(ctx context.Context, p *process) error {
	switch {
	case c.List:
		return listPresets(p)
	case c.File == "":
		return exit{exitUsage, errors.New("init needs a file to write, or --list")}
	case filepath.Ext(c.File) != ".cue":
		return exit{exitUsage, fmt.Errorf("%s must end in .cue, as what init writes is CUE", c.File)}
	case c.From != "":
		preset, err := presets.Read(c.From)
		if err != nil {
			return exit{exitUsage, err}
		}
		if err := c.write(p, preset.Text); err != nil {
			return err
		}
		return showCommands(p, c.File, preset.Text)
	case c.URL == "":
		return exit{exitUsage, errors.New("init needs --url, the base of a running service's API, or --from, a preset that ships with sweetspot")}
	}
	text, err := c.fromService(ctx, p)
	if err != nil {
		return err
	}
	return c.write(p, text)
}

// showCommands says what a preset that was copied starts.
func showCommands(p *process, file string, text []byte) error {
	preset, err := schema.Read(file, text, schema.Options{})
	if err != nil {
		return err
	}
	plan, err := planOf(preset)
	if err != nil {
		return err
	}
	printCommands(p.stdout, plan)
	return nil
}

func listPresets(p *process) error {
	shipped, err := presets.List()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, preset := range shipped {
		rows = append(rows, []string{preset.Name, preset.Use})
	}
	return printTable(p.stdout, 2, []string{"preset", "use it"}, []align{left, left}, rows)
}

// fromService asks the service what it serves.
func (c *initCmd) fromService(ctx context.Context, p *process) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, exit{exitUsage, err}
	}
	endpoint := &schema.Endpoint{URL: c.URL, APIKeyEnv: c.APIKeyEnv, VerifyTLS: true}
	s, err := service.Start(ctx, schema.Service{Endpoint: endpoint}, service.Options{LookupEnv: p.lookupEnv})
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	models, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := c.choose(p, models)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("reading --url: it is no URL") // not err, which repeats it
	}
	if base.User != nil {
		base.User = nil
		fmt.Fprintf(p.stderr, "sweetspot: the user name and password of --url are not written: have the file send them as a header, "+
			"request: headers: Authorization: {env: \"NAME\"}, or add them to its url\n")
	}
	return presets.New(presets.Starter{URL: base.String(), APIKeyEnv: c.APIKeyEnv, Model: chosen.ID, ContextLength: chosen.MaxModelLen})
}

// check holds what was given against the specification of presets, whose messages repeat no secret.
func (c *initCmd) check() error {
	endpoint := map[string]any{"url": c.URL}
	if c.APIKeyEnv != "" {
		endpoint["api_key_env"] = c.APIKeyEnv
	}
	model := c.Model
	if model == "" {
		model = "any"
	}
	var faults []error
	for _, fault := range faultsOf(model, endpoint) {
		given := map[string]string{"model": "--model", "service.endpoint.url": "--url", "service.endpoint.api_key_env": "--api-key-env"}[fault.Path]
		faults = append(faults, fmt.Errorf("%s %s", given, fault.Message))
	}
	return errors.Join(faults...)
}

// faultsOf are those of a preset with this model and endpoint, and nothing else of its own.
func faultsOf(model string, endpoint map[string]any) schema.Problems {
	text, err := json.Marshal(map[string]any{"model": model, "service": map[string]any{"endpoint": endpoint}, "workload": map[string]any{"fixed": struct{}{}}})
	if err != nil {
		panic(err) // texts have JSON
	}
	var problems schema.Problems
	if _, err := schema.Read("init.json", text, schema.Options{}); err != nil && !errors.As(err, &problems) {
		panic(err) // the specification itself is broken: any test finds it
	}
	return problems
}

// choose gives the model that was asked for, or else the first whose name a preset can hold.
func (c *initCmd) choose(p *process, models []service.Model) (service.Model, error) {
	for i, m := range models {
		switch {
		case c.Model != "" && c.Model == m.ID:
			return m, nil
		case c.Model != "" || len(faultsOf(m.ID, map[string]any{"url": c.URL})) > 0:
			continue
		case i > 0:
			fmt.Fprintf(p.stderr, "sweetspot: chose model %s: %d before it have names that a preset can't hold\n", m.ID, i)
		}
		return m, nil
	}
	if c.Model != "" {
		return service.Model{}, exit{exitUsage, fmt.Errorf("the service does not serve %s; it serves %s", c.Model, modelNames(models))}
	}
	return service.Model{}, errors.New("the models that the service lists have names that a preset can't hold: empty, between blanks, or with control characters")
}

// modelNames are the names, in quotes where they have characters that do not print.
func modelNames(models []service.Model) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.ID
		if quoted := strconv.Quote(m.ID); m.ID == "" || quoted != `"`+m.ID+`"` {
			names[i] = quoted
		}
	}
	return strings.Join(names, ", ")
}

func (c *initCmd) write(p *process, text []byte) error {
	file, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return exit{exitUsage, fmt.Errorf("%s exists: name another file, or move it away", c.File)}
	}
	if err != nil {
		return fmt.Errorf("writing the preset: %w", err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", c.File, err)
	}
	fmt.Fprintf(p.stdout, "wrote %s; now: sweetspot run %s\n", c.File, c.File)
	return nil
}
