package main

import "sweetspot/schema"

// schemaCmd prints the specification of presets.
type schemaCmd struct {
	JSONSchema bool `name:"json-schema" help:"As JSON Schema, for editors; rules between fields are left out there."`
}

// Run is the command.
func (c *schemaCmd) Run(p *process) error {
	text := schema.Source()
	if c.JSONSchema {
		var err error
		if text, err = schema.JSONSchema(); err != nil {
			return err
		}
	}
	_, err := p.stdout.Write(text)
	return err
}
