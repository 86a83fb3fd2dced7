package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type talk struct {
	Messages []struct {
		Role    string `parquet:"role"`
		Content string `parquet:"content"`
	} `parquet:"messages,list"`
	Prompt *string `parquet:"prompt,optional"`
	Bytes  []byte  `parquet:"bytes"`
	Tokens *int64  `parquet:"output_tokens,optional"`
}

func parquetOf(t testing.TB, rows int) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[talk](&b, parquet.MaxRowsPerRowGroup(700))
	for i := range rows {
		row := talk{Tokens: new(int64), Bytes: []byte("text")}
		*row.Tokens = int64(i)
		row.Messages = append(row.Messages, struct {
			Role    string `parquet:"role"`
			Content string `parquet:"content"`
		}{"user", fmt.Sprintf("row %d %s", i, strings.Repeat("x", i%2000))})
		if _, err := w.Write([]talk{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRowsOfParquetAreGivenInAnyOrder(t *testing.T) {
	const n = 3000
	type row struct {
		Messages []struct{ Role, Content string }
		Prompt   *string
		Bytes    string
		Tokens   int64 `json:"output_tokens"`
	}
	book, err := Read("f", fileOf(t, parquetOf(t, n)), Parquet{}, func(e Entry) (row, error) {
		var r row
		return r, json.Unmarshal(e.Text, &r)
	})
	if err != nil {
		t.Fatal(err)
	}
	if book.Len() != n || len(book.marks) < 3 {
		t.Fatalf("%d rows, %d marks", book.Len(), len(book.marks))
	}
	for k := range n {
		i := k * 1231 % n
		got, err := book.At(int64(i))
		if err != nil || got.Tokens != int64(i) || got.Prompt != nil || got.Bytes != "text" || len(got.Messages) != 1 || !strings.HasPrefix(got.Messages[0].Content, fmt.Sprintf("row %d ", i)) {
			t.Fatalf("row %d is %+v, %v", i, got, err)
		}
	}
}

func TestBrokenParquetIsAnError(t *testing.T) {
	whole := parquetOf(t, 50)
	for name, content := range map[string]string{
		"empty": "", "text": "hello, this is no Parquet file", "cut": whole[:len(whole)/2], "no head": whole[100:],
		"garbled": whole[:60] + strings.Repeat("\xff", 400) + whole[460:],
	} {
		if _, err := Read("f", fileOf(t, content), Parquet{}, func(e Entry) (int, error) { return 0, nil }); err == nil || !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%s gives %v", name, err)
		}
	}
}
