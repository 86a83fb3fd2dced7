package input

import (
	"fmt"
	"strings"
	"testing"
)

func TestElementsAreGivenInAnyOrder(t *testing.T) {
	const elements = 3000
	var b strings.Builder
	b.WriteString("\ufeff[\n")
	for i := range elements {
		if i > 0 {
			b.WriteString(" ,\n")
		}
		fmt.Fprintf(&b, `{"n": %d, "text": "%s ],{\" \\", "list": [[1], {"a": "]"}]}`, i, strings.Repeat("x", i%2000))
	}
	b.WriteString("\n] \n")
	lines := map[int64]int64{}
	book, err := Read("f", fileOf(t, b.String()), List{}, func(e Entry) (string, error) {
		lines[e.Entry] = e.Line
		return string(e.Text), nil
	})
	if err != nil || book.Len() != elements || len(book.marks) < 3 {
		t.Fatalf("%d elements, %d marks, %v", book.Len(), len(book.marks), err)
	}
	if lines[0] != 2 || lines[elements-1] != elements+1 {
		t.Errorf("the first element stands in line %d, the last in line %d", lines[0], lines[elements-1])
	}
	for n := range elements {
		i := n * 1231 % elements
		got, err := book.At(int64(i))
		if want := fmt.Sprintf(`{"n": %d, "text": "x`, i); err != nil || i%2000 > 0 && !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `{"a": "]"}]}`) {
			t.Fatalf("element %d is %.60s, %v", i, got, err)
		}
	}
}

func TestFaultsOfLists(t *testing.T) {
	for content, want := range map[string]string{
		"":                "f:1: the file is empty",
		" \n [ \n ]":      "f:1: the file is empty",
		"{}":              "f:1: must be a JSON list, which begins with [ and not '{'",
		"[1,\n2":          "f:2: the list has no end: ] is missing",
		"[1,\n2,":         "f:2: the list has no end: ] is missing",
		"[1,\n{\"a\": \"": "f:2: the list has no end: ] is missing",
		"[1] 2":           "f:1: '2' stands behind the end of the list",
		"[1,\nx,\n2]":     "f:2: is no number",
	} {
		_, err := Read("f", fileOf(t, content), List{}, numberOf)
		if err == nil || err.Error() != want {
			t.Errorf("%q gives %v, want %s", content, err, want)
		}
	}
}
