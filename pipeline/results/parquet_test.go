package results

import (
	"slices"
	"testing"

	"sweetspot/runner/measure"
)

// pieces counts how often it is written to.
type pieces int

func (n *pieces) Write(p []byte) (int, error) {
	*n++
	return len(p), nil
}

// The library writes each field of its headers by itself: a thousand system calls for a point of one request.
func TestAFileIsWrittenInFewPieces(t *testing.T) {
	l, err := layoutOf[measure.Point](Points, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	var n pieces
	if err := writeParquet(&n, l, slices.Values([]measure.Point{{}}), shortGroups); err != nil {
		t.Fatal(err)
	}
	if n > 4 {
		t.Errorf("one point was written in %d pieces, want 4 at most", n)
	}
}
