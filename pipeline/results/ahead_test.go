package results

import (
	"errors"
	"iter"
	"testing"
	"testing/synctest"
)

// counting gives n numbers from 0 on, then an error where there is one, and says in given how many were taken.
func counting(n int, broken error, given *int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			*given = i + 1
			if !yield(i, nil) {
				return
			}
		}
		if broken != nil {
			yield(0, broken)
		}
	}
}

func TestRowsReadAheadAreTheRows(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, rowsAhead - 1, rowsAhead, 5*rowsAhead + 3} {
		for _, want := range []error{nil, broken} {
			var given, got int
			var ended error
			for row, err := range ahead(counting(n, want, &given)) {
				if ended = err; err != nil {
					continue
				}
				if row != got {
					t.Fatalf("row %d of %d is %d", got, n, row)
				}
				got++
			}
			if got != n || given != n || ended != want {
				t.Errorf("%d rows of %d, ended by %v, want %v", got, n, ended, want)
			}
		}
	}
}

// Whoever breaks off leaves no goroutine behind, and few rows were read in vain.
func TestReadingAheadEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given int
		for row := range ahead(counting(100*rowsAhead, nil, &given)) {
			synctest.Wait()
			if row == 10 {
				break
			}
		}
		if given == 0 || given > 4*rowsAhead {
			t.Errorf("%d rows were read for 11", given)
		}
	})
}
