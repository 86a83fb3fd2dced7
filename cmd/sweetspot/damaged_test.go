package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"
)

// damaged is "damaged FILE": it writes a Parquet file of prompts with a page that says in a few bytes that it has ten times 2,147,483,647 values. Its checksum is
// right, as it is where there is none.
func damaged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damaged FILE")
	}
	var out bytes.Buffer
	type row struct {
		Prompt *string `parquet:"prompt,optional"`
	}
	rows := parquet.NewGenericWriter[row](&out)
	for range 400 {
		_, err := rows.Write([]row{{new("hello")}, {}})
		ts.Check(err)
	}
	ts.Check(rows.Close())
	file := out.Bytes()
	page := bytes.Index(file, bytes.Repeat([]byte{0x55}, 100)) - 2 // every other value is null, behind the length of that
	if page < 0 {
		ts.Fatalf("the file has no page as is looked for")
	}
	sum := func(end int) []byte {
		return binary.AppendVarint(nil, int64(int32(crc32.ChecksumIEEE(file[page:end]))))
	}
	end := page + 1
	for !bytes.Contains(file[:page], sum(end)) {
		end++
	}
	at := bytes.Index(file[:page], sum(end))
	copy(file[page:], bytes.Repeat([]byte{0xfe, 0xff, 0xff, 0xff, 0x0f, 0x01}, 10))
	if copy(file[at:page], sum(end)) != 5 {
		ts.Fatalf("the checksum has another length")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), file, 0o600))
}
