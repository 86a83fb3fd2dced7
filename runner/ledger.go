package runner

import "sweetspot/runner/measure"

// ledger holds the records of a point in order of dispatch. A record stays where it is.
type ledger struct {
	full [][]measure.Record
	last []measure.Record
	n    int64
}

const (
	leastRecords = 1 << 8
	mostRecords  = 1 << 16
)

func newLedger(expected int64) ledger {
	return ledger{last: make([]measure.Record, 0, min(max(expected, leastRecords), mostRecords))}
}

// next makes the next record.
func (l *ledger) next() *measure.Record {
	if len(l.last) == cap(l.last) {
		l.full = append(l.full, l.last)
		l.last = make([]measure.Record, 0, min(2*cap(l.last), mostRecords))
	}
	l.last = append(l.last, measure.Record{Index: l.n})
	l.n++
	return &l.last[len(l.last)-1]
}

// all gives the records as one slice.
func (l *ledger) all() []measure.Record {
	if len(l.full) == 0 {
		return l.last
	}
	all := make([]measure.Record, 0, l.n)
	for _, part := range l.full {
		all = append(all, part...)
	}
	return append(all, l.last...)
}
