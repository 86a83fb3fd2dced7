package schema

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// goFields lists the fields of a Go type by the names they have in JSON, those of structs below them.
func goFields(t reflect.Type, at string) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return goFields(t.Elem(), at)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return goFields(t.Elem(), at+"[]")
	case t.Kind() != reflect.Struct || t == reflect.TypeFor[Header](), t == reflect.TypeFor[Distribution](), t == reflect.TypeFor[Agentic]():
		return nil
	}
	var names []string
	for i := range t.NumField() {
		if t.Field(i).Anonymous {
			names = append(names, goFields(t.Field(i).Type, at)...)
			continue
		}
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		name = strings.TrimPrefix(at+"."+name, ".")
		names = append(names, name)
		names = append(names, goFields(t.Field(i).Type, name)...)
	}
	return names
}

// TestTypesMatchSpecification holds the Go types and the CUE files together, both ways: decoding drops what a type does not know without a word.
func TestTypesMatchSpecification(t *testing.T) {
	var types []string
	for _, name := range goFields(reflect.TypeFor[Preset](), "") {
		if name != "trials" && !strings.HasPrefix(name, "trials[") {
			types = append(types, name)
		}
	}
	types = append(types, goFields(reflect.TypeFor[Spec](), "")...)
	fields, err := Fields()
	if err != nil {
		t.Fatal(err)
	}
	var specified []string
	for _, f := range fields {
		if !strings.HasPrefix(f.Path, "trials") && !strings.HasPrefix(f.Path, "matrix") {
			specified = append(specified, f.Path)
		}
	}
	for _, name := range specified {
		if !slices.Contains(types, name) {
			t.Errorf("the specification has %s, the Go types do not", name)
		}
	}
	for _, name := range types {
		if !slices.Contains(specified, name) {
			t.Errorf("the Go types have %s, the specification does not", name)
		}
	}
}

// TestAlternatives holds that the objects whose alternatives a trial replaces are those of which the specification wants one.
func TestAlternatives(t *testing.T) {
	fields, err := Fields()
	if err != nil {
		t.Fatal(err)
	}
	var oneOf []string
	for _, f := range fields {
		if f.OneOf {
			oneOf = append(oneOf, f.Path)
		}
	}
	slices.Sort(oneOf)
	if !slices.Equal(oneOf, alternatives) {
		t.Errorf("one of several: %v, replaced by trials: %v", oneOf, alternatives)
	}
}

// TestEveryFieldIsDocumented holds that the reference page and the comments of a new preset have something to say of every field.
func TestEveryFieldIsDocumented(t *testing.T) {
	fields, err := Fields()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		if f.Doc == "" {
			t.Errorf("%s has no comment", f.Path)
		}
		patch := strings.HasPrefix(f.Path, "trials.*.")
		if f.Rule == "" && !f.Group && !patch && !strings.HasSuffix(f.Path, "faults") && !strings.HasSuffix(f.Path, "pairs") {
			t.Errorf("%s has no rule in words", f.Path)
		}
	}
}

// TestSourcesAreAllRead holds that no CUE file is left out of the specification.
func TestSourcesAreAllRead(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	listed := slices.Sorted(slices.Values(sources))
	if !slices.Equal(names, listed) {
		t.Errorf("embedded %v, read %v", names, listed)
	}
}
