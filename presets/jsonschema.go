package presets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// GotSchema is the JSON Schema (2020-12) of what preset get --json prints.
func GotSchema() ([]byte, error) {
	return documentSchema(reflect.TypeFor[Got](), "sweetspot preset get")
}

// ListingSchema is that of what preset list --json prints.
func ListingSchema() ([]byte, error) {
	return documentSchema(reflect.TypeFor[Listing](), "sweetspot preset list")
}

type object = map[string]any

func documentSchema(t reflect.Type, title string) ([]byte, error) {
	made, err := schemaOf(t)
	if err != nil {
		return nil, fmt.Errorf("making the JSON Schema of %s: %w", title, err)
	}
	whole := made.(object)
	whole["$schema"], whole["title"] = "https://json-schema.org/draft/2020-12/schema", title
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(whole)
	return out.Bytes(), err
}

// schemaOf describes values of a type as they are written.
func schemaOf(t reflect.Type) (any, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}, nil
	case reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}, nil
	case reflect.TypeFor[schema.Duration]():
		return object{"type": "string"}, nil
	case reflect.TypeFor[Metrics]():
		return metricsSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		of, err := schemaOf(t.Elem())
		return object{"anyOf": []any{of, object{"type": "null"}}}, err
	case reflect.Slice:
		of, err := schemaOf(t.Elem())
		return object{"type": "array", "items": of}, err
	case reflect.Struct:
		made := object{"type": "object", "properties": object{}, "required": []string{}, "additionalProperties": false}
		return made, addFields(made, t)
	case reflect.String:
		return object{"type": "string"}, nil
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}, nil
	case reflect.Float64:
		return object{"type": "number"}, nil
	}
	return nil, fmt.Errorf("nothing is known of %s", t)
}

// addFields adds the fields of a struct to the schema of an object, those of embedded structs among them.
func addFields(made object, t reflect.Type) error {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if field.Anonymous && name == "" {
			if err := addFields(made, field.Type); err != nil {
				return err
			}
			continue
		}
		of, err := schemaOf(field.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		add(made, name, of, field.Tag.Get("doc"), options != "omitempty")
	}
	return nil
}

func add(made object, name string, of any, doc string, required bool) {
	if doc != "" {
		of.(object)["description"] = doc
	}
	made["properties"].(object)[name] = of
	if required {
		made["required"] = append(made["required"].([]string), name)
	}
}

// metricsSchema has a field for each column that is a figure. More may come with later versions.
func metricsSchema() (any, error) {
	made := object{"type": "object", "properties": object{}, "required": []string{}}
	described := notMetrics()
	for _, column := range measure.Columns(reflect.TypeFor[measure.Point]()) {
		if slices.Contains(described, column.Name) {
			continue
		}
		of, err := schemaOf(column.Type)
		if column.Type == reflect.TypeFor[*float64]() {
			of = object{"anyOf": []any{object{"type": "number"}, object{"enum": []string{"Infinity", "-Infinity"}}, object{"type": "null"}}}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", column.Name, err)
		}
		doc := column.Doc
		if column.Unit != "" {
			doc += " (" + column.Unit + ")"
		}
		add(made, column.Name, of, doc, true)
	}
	return made, nil
}
