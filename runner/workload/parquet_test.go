package workload

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sweetspot/runner/measure"
)

// A Parquet file's rows are prompts as lines are.
func TestPromptsFromParquet(t *testing.T) {
	type row struct {
		Messages string `parquet:"messages"`
		Tokens   *int64 `parquet:"output_tokens,optional"`
		Source   string `parquet:"source"`
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file)
	five := int64(5)
	rows := []row{{`[{"role": "user", "content": "One?"}]`, &five, "a"}, {`[{"role": "user", "content": "Two?"}]`, nil, "b"}}
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	source, err := fileSource(t, "p.parquet", file.String(), promptsSpec("p.parquet", "chat", "shared"), Seed{})
	if err != nil {
		t.Fatal(err)
	}
	for i, most := range []int64{5, 77} {
		got := askedAt(t, source, measure.Measured, int64(i))
		if want := []string{"One?", "Two?"}[i]; got.Most != most || got.Messages[0]["content"] != want {
			t.Errorf("row %d asks %+v", i, got)
		}
	}
}
