package main

import (
	"errors"

	"sweetspot/presets"
	"sweetspot/schema"
)

// schemaCmd prints the specification of presets, and of documents.
type schemaCmd struct {
	Of         string `default:"preset" enum:"preset,get,list" placeholder:"WHAT" help:"What is specified: preset, or the documents of preset get --json and preset list --json (get, list), as JSON Schema."`
	JSONSchema bool   `name:"json-schema" help:"As JSON Schema, for editors; rules between fields are left out there."`
}

// Run is the command.
func (c *schemaCmd) Run(p *process) error {
	text, err := c.text()
	_, written := p.stdout.Write(text)
	return errors.Join(err, written)
}

func (c *schemaCmd) text() ([]byte, error) {
	switch {
	case c.Of == "get":
		return presets.GotSchema()
	case c.Of == "list":
		return presets.ListingSchema()
	case c.JSONSchema:
		return schema.JSONSchema()
	}
	return schema.Source(), nil
}
