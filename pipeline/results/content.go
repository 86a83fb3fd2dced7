package results

import (
	"bytes"
	"fmt"
	"io"

	"sweetspot/runner/disk"
)

// content is what a file holds.
type content struct {
	*io.SectionReader
	path  string
	close func() error
}

// readAtOnce is how many bytes of a file are taken into memory. A file of one point has hundreds of columns, each of which would be a read.
const readAtOnce = 1 << 20

func openContent(path string) (*content, error) {
	in, err := disk.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	info, err := in.Stat()
	if err == nil && info.Size() > readAtOnce {
		return &content{io.NewSectionReader(in, 0, info.Size()), path, in.Close}, nil
	}
	defer in.Close()
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(in, readAtOnce))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return &content{io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text))), path, func() error { return nil }}, nil
}
