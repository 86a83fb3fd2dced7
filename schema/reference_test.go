package schema

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
)

// section is a top-level field of the reference page; entry is one below it, in the words of the page.
type section struct {
	entry
	Name   string
	Fields []entry
}

type entry struct {
	Path, Value, Default, Doc string
	Required                  bool
}

func newEntry(f Field) entry {
	e := entry{Path: f.Path, Value: cell(f.Rule), Doc: cell(f.Doc), Required: f.Required}
	switch {
	case f.OneOf:
		e.Value = "one of the groups below"
	case f.Group:
		e.Value = "group of fields"
	case strings.HasSuffix(f.Path, "faults"), strings.HasSuffix(f.Path, "pairs"):
		e.Value = "list of groups of fields"
	case f.Rule == "":
		e.Value = "as there"
	}
	if f.Default != "" {
		e.Default = "`" + f.Default + "`"
	}
	if len(f.Needs) > 0 && len(f.Only) == 0 {
		e.Doc += " Only with `" + strings.Join(f.Needs, "`, `") + "`."
	}
	if len(f.Excludes) > 0 {
		e.Doc += " Not with `" + strings.Join(f.Excludes, "`, `") + "`."
	}
	if len(f.Only) > 0 {
		e.Doc += " Only with `" + f.Only[0] + "` " + strings.Join(f.Only[1:], ", ") + "."
	}
	return e
}

// cell is text as a cell of a table takes it.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// TestReferencePage holds that docs/reference/preset.md is what the specification says.
func TestReferencePage(t *testing.T) {
	fields, err := Fields()
	if err != nil {
		t.Fatal(err)
	}
	var sections []section
	for _, f := range fields {
		if !strings.Contains(f.Path, ".") {
			sections = append(sections, section{Name: f.Path, entry: newEntry(f)})
			continue
		}
		e := newEntry(f)
		if e.Required && e.Default == "" {
			e.Default = "required"
		}
		last := &sections[len(sections)-1]
		e.Path = strings.TrimPrefix(e.Path, last.Name+".")
		last.Fields = append(last.Fields, e)
	}
	page, err := template.ParseFiles(filepath.Join("testdata", "reference.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, sections); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", "docs", "reference", "preset.md"), strings.TrimRight(out.String(), "\n")+"\n")
}

// TestReferenceExamples holds that what the page shows is valid.
func TestReferenceExamples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("testdata", "reference.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	cue, yaml := fenced(string(page), "cue"), fenced(string(page), "yaml")
	if _, err := Read("page.cue", []byte(cue), Options{}); err != nil {
		t.Errorf("the example in CUE: %v", err)
	}
	whole := "model: a\nservice: {simulator: {}}\nworkload: {fixed: {}}\n" + yaml
	preset, err := Read("page.yaml", []byte(whole), Options{})
	if err != nil {
		t.Fatalf("the example in YAML: %v", err)
	}
	if got := preset.Trials[0].Name; got != "baseline/max_num_seqs=64,model=a,temperature=0" {
		t.Errorf("the first trial of the example is %s", got)
	}
}

// fenced is the first block of a language in a page.
func fenced(page, language string) string {
	_, block, _ := strings.Cut(page, "```"+language+"\n")
	block, _, _ = strings.Cut(block, "```")
	return block
}
