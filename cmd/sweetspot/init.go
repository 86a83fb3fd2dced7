package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sweetspot/presets"
	"sweetspot/runner/service"
	"sweetspot/schema"
)

// initCmd writes a preset to start from.
type initCmd struct {
	File string `arg:"" optional:"" help:"File to write, ending in .cue; it must not exist."`

	URL       string `name:"url" placeholder:"URL" xor:"from" help:"Base of a running service's API, such as http://127.0.0.1:8000/v1: its first model is asked for."`
	Model     string `help:"Another of its models."`
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
	case c.From != "":
		preset, err := presets.Read(c.From)
		if err != nil {
			return exit{exitUsage, err}
		}
		return c.write(p, preset.Text)
	case c.URL == "":
		return exit{exitUsage, errors.New("init needs --url, the base of a running service's API, or --from, a preset that ships with sweetspot")}
	}
	text, err := c.fromService(ctx, p)
	if err != nil {
		return err
	}
	return c.write(p, text)
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
	endpoint := &schema.Endpoint{URL: c.URL, APIKeyEnv: c.APIKeyEnv, VerifyTLS: true}
	s, err := service.Start(ctx, schema.Service{Endpoint: endpoint}, service.Options{LookupEnv: p.lookupEnv})
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	models, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	chosen := models[0]
	for _, m := range models {
		if m.ID == c.Model {
			chosen = m
		}
	}
	if c.Model != "" && chosen.ID != c.Model {
		return nil, exit{exitUsage, fmt.Errorf("the service does not serve %s; it serves %s", c.Model, modelNames(models))}
	}
	return presets.New(presets.Starter{URL: c.URL, APIKeyEnv: c.APIKeyEnv, Model: chosen.ID, ContextLength: chosen.MaxModelLen})
}

func modelNames(models []service.Model) string {
	text := models[0].ID
	for _, m := range models[1:] {
		text += ", " + m.ID
	}
	return text
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
