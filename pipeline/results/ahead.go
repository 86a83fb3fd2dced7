package results

import (
	"iter"
	"sync"
)

// rowsAhead is how many rows are handed over at once: few enough to be held several times, and so many that handing them over costs nothing.
const rowsAhead = 1024

// ahead has rows read by a goroutine of its own, a few batches before they are asked for: reading an export takes about as long as writing it. The goroutine has
// ended when the iteration has.
func ahead[T any](rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r := reader[T]{read: make(chan batch[T], 1), spare: make(chan []T, 2), over: make(chan struct{})}
		var reading sync.WaitGroup
		reading.Go(func() { r.run(rows) })
		defer reading.Wait()
		defer close(r.over)
		for b := range r.read {
			for _, row := range b.rows {
				if !yield(row, nil) {
					return
				}
			}
			if b.err != nil {
				var none T
				yield(none, b.err)
				return
			}
			select {
			case r.spare <- b.rows[:0]:
			default:
			}
		}
	}
}

// reader hands batches of rows over, and takes their slices back.
type reader[T any] struct {
	read  chan batch[T]
	spare chan []T
	over  chan struct{} // closed when nobody takes any more
}

// batch is rows, and what ended them where that was an error.
type batch[T any] struct {
	rows []T
	err  error
}

func (r *reader[T]) run(rows iter.Seq2[T, error]) {
	defer close(r.read)
	var next batch[T]
	for row, err := range rows {
		if err != nil {
			next.err = err
			break
		}
		next.rows = append(next.rows, row)
		if len(next.rows) < rowsAhead {
			continue
		}
		if !r.hand(next) {
			return
		}
		next = batch[T]{}
		select {
		case next.rows = <-r.spare:
		default:
		}
	}
	r.hand(next)
}

// hand reports whether a batch was taken.
func (r *reader[T]) hand(b batch[T]) bool {
	select {
	case r.read <- b:
		return true
	case <-r.over:
		return false
	}
}
