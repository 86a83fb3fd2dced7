package schema

import (
	"errors"
	"strings"
	"testing"
)

// TestHostileFiles holds that files made to be costly end in one problem, soon.
func TestHostileFiles(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += string(i) + ": &" + string(i) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(i-1)+",", 10), ",") + "]\n"
	}
	nest := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for _, test := range []struct{ name, file, src, want string }{
		{"aliases of aliases", "p.yaml", bomb, "is too large"},
		{"deep JSON", "p.json", `{"model": ` + nest(9000) + "}", "is too large"},
		{"deeper JSON", "p.json", `{"model": ` + nest(500_000) + "}", "is too large"},
		{"deep YAML", "p.yaml", "model: " + nest(9000), "is too large"},
		{"deeper YAML", "p.yaml", "model: " + nest(500_000), "depth"},
		{"deep CUE", "p.cue", "model: " + nest(5000), "is too large"},
		{"deeper CUE", "p.cue", "model: " + nest(500_000), "depth"},
		{"a long list", "p.json", `{"model": [` + strings.Repeat("1,", 300_000) + "1]}", "is too large"},
		{"more than a preset may have", "p.json", `{"model": "` + strings.Repeat("x", MaxSize) + `"}`, "1 MiB"},
		{"not text", "p.yaml", "model: \xff\xfe", "UTF-8"},
	} {
		_, err := Read(test.file, []byte(test.src), Options{})
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(problems[0].Message, test.want) {
			t.Errorf("%s: %.300v", test.name, err)
		}
	}
}
