package results

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sweetspot/runner/measure"
)

var generated = regexp.MustCompile(`(?s)(<!-- generated: (\w+) -->\n).*?(<!-- end -->)`)

// TestTheReferenceListsEveryColumn holds docs/reference/results.md against the row types. UPDATE=1 rewrites its tables.
func TestTheReferenceListsEveryColumn(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "results.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{
		"requests":       columnTable(reflect.TypeFor[measure.RequestRow]()),
		"points":         columnTable(reflect.TypeFor[measure.Point]()),
		"trials":         columnTable(reflect.TypeFor[Verdict]()),
		"server_metrics": columnTable(reflect.TypeFor[measure.MetricRow]()),
		"gpu":            columnTable(reflect.TypeFor[measure.GPURow]()),
	}
	found := 0
	want := generated.ReplaceAllStringFunc(string(page), func(section string) string {
		parts := generated.FindStringSubmatch(section)
		found++
		return parts[1] + tables[parts[2]] + parts[3]
	})
	if found != len(tables) {
		t.Fatalf("%s has %d generated tables, want %d", path, found, len(tables))
	}
	if want == string(page) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s is not what the row types say: run UPDATE=1 go test ./pipeline/results", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func columnTable(row reflect.Type) string {
	var out strings.Builder
	out.WriteString("| column | type | unit | null | meaning |\n|---|---|---|---|---|\n")
	for _, c := range measure.Columns(row) {
		null := ""
		if nullable(c.Type) {
			null = "yes"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", c.Name, typeName(c.Type), c.Unit, null, strings.ReplaceAll(c.Doc, "|", `\|`))
	}
	return out.String()
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Int64:
		return "int64"
	}
	return t.Kind().String()
}
