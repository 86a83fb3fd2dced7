package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"
)

const jsonSchemaComment = "Made of sweetspot's CUE specification, for completion and checking in editors. Rules between fields are left out: only " +
	"sweetspot validate knows them all."

// JSONSchema is the specification of a preset as JSON Schema (2020-12), for editors. It knows each field by itself; rules between fields are left
// out, and it says so.
func JSONSchema() ([]byte, error) {
	ctx := cuecontext.New()
	withoutRules := slices.DeleteFunc(slices.Clone(sources), func(name string) bool { return name == "rules.cue" })
	root := ctx.CompileBytes(join(withoutRules), cue.Filename("schema.cue"))
	expr, err := jsonschema.Generate(root.LookupPath(cue.ParsePath("#Preset")), nil)
	if err != nil {
		return nil, fmt.Errorf("making the JSON Schema: %w", err)
	}
	written, err := ctx.BuildExpr(expr).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("making the JSON Schema: %w", err)
	}
	var made map[string]any
	if err := json.Unmarshal(written, &made); err != nil {
		return nil, fmt.Errorf("making the JSON Schema: %w", err)
	}
	simplified(made)
	merge(made)
	made["$comment"] = jsonSchemaComment
	made["title"] = "sweetspot preset"
	if err := addDefaults(made); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(made)
	return out.Bytes(), err
}

// merge puts the parts that a preset is made of into one object: each part by itself is closed to the fields of the others. No part is required,
// since a trial may bring what the preset leaves out.
func merge(made map[string]any) {
	parts, _ := made["allOf"].([]any)
	properties := map[string]any{}
	for _, part := range parts {
		part, ok := part.(map[string]any)
		if !ok {
			continue
		}
		fields, _ := resolve(made, part)["properties"].(map[string]any)
		maps.Copy(properties, fields)
	}
	delete(made, "allOf")
	made["type"], made["properties"], made["additionalProperties"] = "object", properties, false
	if definitions, ok := made["$defs"].(map[string]any); ok {
		delete(definitions, "Settings")
		delete(definitions, "Spec")
	}
}

// simplified drops what only CUE needs: the error() beside every alternative, which JSON Schema writes as false, "number" beside "integer", and lists
// of one alternative.
func simplified(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = simplified(v[i])
		}
		return v
	case map[string]any:
		for name, value := range v {
			v[name] = simplified(value)
		}
		if either, ok := v["anyOf"].([]any); ok {
			either = slices.DeleteFunc(either, func(a any) bool { return a == false })
			v = replaceList(v, "anyOf", constants(withoutDefault(either)))
		}
		if all, ok := v["allOf"].([]any); ok {
			v = replaceList(v, "allOf", slices.DeleteFunc(all, isBareNumber))
		}
		if patterns, ok := v["patternProperties"].(map[string]any); ok {
			v["patternProperties"] = portablePatterns(patterns)
		}
		if pattern, ok := v["pattern"].(string); ok {
			v["pattern"] = portable(pattern)
		}
		if description, ok := v["description"].(string); ok {
			v["description"] = strings.ReplaceAll(description, "\n", " ")
		}
		return v
	default:
		return v
	}
}

// replaceList puts a list in the place of v's; a single alternative is merged into v.
func replaceList(v map[string]any, name string, alternatives []any) map[string]any {
	v[name] = alternatives
	if len(alternatives) != 1 {
		return v
	}
	only, ok := alternatives[0].(map[string]any)
	if !ok {
		return v
	}
	delete(v, name)
	maps.Copy(v, only)
	return v
}

// withoutDefault drops a default that stands beside the definition that it belongs to.
func withoutDefault(alternatives []any) []any {
	isRef := func(a any) bool {
		m, ok := a.(map[string]any)
		return ok && m["$ref"] != nil
	}
	if len(alternatives) == 2 && isRef(alternatives[1]) {
		if m, ok := alternatives[0].(map[string]any); ok && m["const"] != nil {
			return alternatives[1:]
		}
	}
	return alternatives
}

// constants writes alternatives of one constant each as an enumeration.
func constants(alternatives []any) []any {
	var values []any
	for _, a := range alternatives {
		m, ok := a.(map[string]any)
		value, isConst := m["const"]
		if !ok || !isConst || len(m) != 1 {
			return alternatives
		}
		values = append(values, value)
	}
	return []any{map[string]any{"enum": values}}
}

func isBareNumber(a any) bool {
	m, ok := a.(map[string]any)
	return ok && len(m) == 1 && m["type"] == "number"
}

func portablePatterns(patterns map[string]any) map[string]any {
	written := map[string]any{}
	for pattern, value := range patterns {
		written[portable(pattern)] = value
	}
	return written
}

var letter = regexp.MustCompile(`[a-z]`)

// portable writes a pattern that ignores case as JSON Schema can: its (?i) is Go's alone. Such patterns of the specification have no classes of
// letters.
func portable(pattern string) string {
	rest, ignores := strings.CutPrefix(pattern, "(?i)")
	if !ignores {
		return pattern
	}
	return letter.ReplaceAllStringFunc(rest, func(l string) string { return "[" + strings.ToUpper(l) + l + "]" })
}

// addDefaults gives every field its default.
func addDefaults(made map[string]any) error {
	fields, err := Fields()
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.Default == "" {
			continue
		}
		if found := property(made, strings.Split(strings.ReplaceAll(f.Path, "[]", ".[]"), ".")); found != nil {
			found["default"] = json.RawMessage(f.Default)
		}
	}
	return nil
}

// property is the schema of the field at a path, or nil.
func property(root map[string]any, names []string) map[string]any {
	at := root
	for _, name := range names {
		at = resolve(root, at)
		if name == "[]" {
			at, _ = at["items"].(map[string]any)
			continue
		}
		properties, _ := at["properties"].(map[string]any)
		at, _ = properties[name].(map[string]any)
	}
	return at
}

func resolve(root, at map[string]any) map[string]any {
	ref, ok := at["$ref"].(string)
	if !ok {
		return at
	}
	definitions, _ := root["$defs"].(map[string]any)
	definition, _ := definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	return definition
}
