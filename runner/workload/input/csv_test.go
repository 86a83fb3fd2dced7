package input

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

type cells map[string]string

func cellsOf(e Entry) (cells, error) {
	var c cells
	err := json.Unmarshal(e.Text, &c)
	if c["n"] == "bad" {
		return nil, fmt.Errorf("n is bad")
	}
	return c, err
}

func TestRowsOfATable(t *testing.T) {
	var b strings.Builder
	b.WriteString("\ufeffn,\"the text\"\r\n\r\n")
	const rows = 40_000
	for i := range rows {
		fmt.Fprintf(&b, "%d,\"%s a \"\"quoted\"\",\nsecond line\"\r\n", i, strings.Repeat("x", i%97))
		if i%5 == 0 {
			b.WriteString("\n")
		}
	}
	book, err := Read("table", fileOf(t, strings.TrimSuffix(b.String(), "\r\n")), CSV{}, cellsOf)
	if err != nil {
		t.Fatal(err)
	}
	if book.Len() != rows || len(book.marks) < 3 {
		t.Fatalf("%d rows, %d marks", book.Len(), len(book.marks))
	}
	for _, i := range []int64{rows - 1, 0, 17, 20_000, 39_000, 1} {
		got, err := book.At(i)
		want := strings.Repeat("x", int(i%97)) + " a \"quoted\",\nsecond line"
		if err != nil || got["n"] != fmt.Sprint(i) || got["the text"] != want {
			t.Errorf("row %d is %q, %v", i, got, err)
		}
	}
}

func TestFaultsOfATable(t *testing.T) {
	for content, want := range map[string]string{
		"n,m\n1,2\n\nbad,2\n\"a\nb\",3\nbad,4\n": "t:4: n is bad\nt:7: n is bad",
		"n,m\n1,2\n1\n":                          "t:3: the row has 1 fields, and the header 2",
		"n,n\n1,2\n":                             `t:1: two columns are called "n"`,
		"n,m\n1,a\"b\"\n":                        "t:2: column 4: bare \" in non-quoted-field",
		"n,m\n1,\"b\n2,c\n":                      "t:2: column 5: extraneous or missing \" in quoted-field",
		"":                                       "t:1: the file is empty",
		"n,m\n":                                  "t:1: there is no row below the header",
		strings.Repeat("n", 9000):                "t:1: there is no row below the header",
	} {
		_, err := Read("t", fileOf(t, content), CSV{}, cellsOf)
		if err == nil || err.Error() != want {
			t.Errorf("%q gives %v, want %s", content, err, want)
		}
	}
}

func TestATableNeedsItsColumns(t *testing.T) {
	for content, want := range map[string]string{
		"m,o\n1,2\n":                 `t:1: the header has no column "n": the first line must name the columns, and it names "m,o"`,
		strings.Repeat("x", 100_000): `t:1: the header has no column "n": the first line must name the columns, and it names "` + strings.Repeat("x", 60) + `…"`,
	} {
		_, err := Read("t", fileOf(t, content), CSV{Needs: []string{"n"}}, cellsOf)
		if err == nil || err.Error() != want {
			t.Errorf("%.20q gives %v, want %s", content, err, want)
		}
	}
}
