package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"

	"sweetspot/runner/disk"
	"sweetspot/runner/measure"
)

func (c *check) points(listed []Measurement) Counted {
	counted := Counted{Table: Points, Files: len(listed)}
	for _, m := range listed {
		name := m.file(string(Points), ".parquet")
		row, err := c.run.point(m, c.sums)
		if err != nil {
			c.broken(name, err)
			continue
		}
		if err := c.measurement(m, &row); err != nil {
			c.broken(name, err)
			continue
		}
		counted.Whole++
		counted.Rows++
	}
	return counted
}

// measurement holds a point against the requests that it was made of. What is wrong with the file of these is told where the table of requests is looked at.
// What another tool measured is as that tool counted it: not every one keeps its requests, or says how they failed.
func (c *check) measurement(m Measurement, row *measure.Point) error {
	if !c.run.has(m.file(string(Requests), ".parquet")) {
		return fmt.Errorf("its %s is not there", path.Join(string(Requests), m.String()+".parquet"))
	}
	if row.Source != nil {
		return nil
	}
	if !row.Conserved() {
		return fmt.Errorf("its requests by status do not add up to the %d issued", row.Issued)
	}
	tally, err := c.tally(m)
	if err != nil {
		return nil
	}
	return tally.differs(row)
}

// tally is what the rows of a measurement's requests come to.
type tally struct {
	rows                        int64
	counts                      measure.Counts
	warmup, warmupFailed, burst int64
}

// tally reads a measurement's requests, once.
func (c *check) tally(m Measurement) (tally, error) {
	if known, there := c.tallies[m]; there {
		return known.tally, known.err
	}
	t, err := c.tallyOf(m)
	c.tallies[m] = tallied{t, err}
	return t, err
}

type tallied struct {
	tally
	err error
}

func (c *check) tallyOf(m Measurement) (t tally, err error) {
	name := m.file(string(Requests), ".parquet")
	var pool measure.Pool
	for row, err := range storedWith[measure.RequestRow](c.run, name, c.sums) {
		if err != nil {
			return t, err
		}
		t.rows++
		if MeasurementOf(row.Keys) != m {
			return t, fmt.Errorf("reading %s: its row %d is of measurement %s", c.run.path(name), t.rows, MeasurementOf(row.Keys))
		}
		if err := t.add(&row.Record); err != nil {
			return t, fmt.Errorf("reading %s: its row %d: %w", c.run.path(name), t.rows, err)
		}
		if c.pools != nil {
			pool.Add(&row.Record)
		}
	}
	if c.pools != nil {
		c.pools[m] = &pool
	}
	return t, nil
}

func (t *tally) add(r *measure.Record) error {
	n := t.counts.Of(r.Status)
	if n == nil {
		return fmt.Errorf("there is no status %q", r.Status)
	}
	switch r.Phase {
	case measure.Measured:
		t.counts.Issued++
		*n++
	case measure.AgenticWarmup:
		t.burst++
	case measure.Warmup:
		t.warmup++
		if r.Status.Failed() {
			t.warmupFailed++
		}
	}
	return nil
}

// differs says what a point counts otherwise than its requests.
func (t *tally) differs(row *measure.Point) error {
	say := func(what string, counts, there int64) error {
		return fmt.Errorf("it counts %d %s, and its requests have %d", counts, what, there)
	}
	switch {
	case row.Issued != t.counts.Issued:
		return say("measured requests", row.Issued, t.counts.Issued)
	case row.WarmupIssued != t.warmup:
		return say("requests of warmup", row.WarmupIssued, t.warmup)
	case row.WarmupFailed != t.warmupFailed:
		return say("failed requests of warmup", row.WarmupFailed, t.warmupFailed)
	case row.AgenticWarmupIssued != nil && *row.AgenticWarmupIssued != t.burst:
		return say("requests of the cache-warmup burst", *row.AgenticWarmupIssued, t.burst)
	}
	for _, s := range measure.Statuses() {
		if counts, there := *row.Counts.Of(s), *t.counts.Of(s); counts != there {
			return say("requests that are "+string(s), counts, there)
		}
	}
	return nil
}

func (c *check) requests(listed, points []Measurement) Counted {
	return c.withPoints(Requests, listed, points, "requests", func(m Measurement, _ string) (int64, error) {
		t, err := c.tally(m)
		return t.rows, err
	})
}

// beside reads a table that a measurement need not have. What its rows are is told of one where there is no point.
func beside[T any](c *check, table Table, listed, points []Measurement, what string, keys func(T) measure.Keys) Counted {
	return c.withPoints(table, listed, points, what, func(m Measurement, name string) (int64, error) {
		return rowsOf(storedWith[T](c.run, name, c.sums), func(row T) bool { return MeasurementOf(keys(row)) == m })
	})
}

// withPoints reads the files of a table that measurements have beside their points. count reads one.
func (c *check) withPoints(table Table, listed, points []Measurement, what string, count func(m Measurement, name string) (int64, error)) Counted {
	counted := Counted{Table: table, Files: len(listed)}
	for _, m := range listed {
		name := m.file(string(table), ".parquet")
		n, err := count(m, name)
		if err == nil && !slices.Contains(points, m) && c.found.Status != Running {
			err = fmt.Errorf("it has %s without a point: the process ended between the two files; resuming the run keeps them in partial/", what)
		}
		if err != nil {
			c.broken(name, err)
			continue
		}
		counted.Whole++
		counted.Rows += n
	}
	return counted
}

func (c *check) trials() Counted {
	counted := Counted{Table: Trials}
	entries, err := os.ReadDir(c.run.path(string(Trials)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.broken(string(Trials), err)
	}
	for _, entry := range entries {
		parts := trialFile.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		counted.Files++
		name := path.Join(string(Trials), entry.Name())
		n, err := rowsOf(storedWith[TrialRow](c.run, name, c.sums), func(row TrialRow) bool {
			return row.TrialID == parts[1] && strconv.FormatInt(row.Attempt, 10) == parts[2]
		})
		if err != nil {
			c.broken(name, err)
			continue
		}
		counted.Whole++
		counted.Rows += n
	}
	return counted
}

// rowsOf counts rows, each of which must be one that belongs.
func rowsOf[T any](rows iter.Seq2[T, error], belongs func(T) bool) (n int64, err error) {
	for row, err := range rows {
		if err != nil {
			return n, err
		}
		if n++; !belongs(row) {
			return n, fmt.Errorf("its row %d is of another file", n)
		}
	}
	return n, nil
}

// streamEnd is how a stream ends that was closed.
var streamEnd = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// partial lists what is left of measurements without a point.
func (c *check) partial() {
	recovered, err := c.run.measurements(partial, ".parquet")
	if err != nil {
		c.broken(partial, err)
		return
	}
	streams, _ := c.run.measurements(partial, streamEnding)
	for _, m := range recovered {
		name := m.file(partial, ".parquet")
		n, err := rowsOf(storedWith[measure.RequestRow](c.run, name, c.sums), func(row measure.RequestRow) bool { return MeasurementOf(row.Keys) == m })
		if err != nil {
			c.broken(name, err)
			continue
		}
		c.ended(m, ".parquet", n, false)
	}
	for _, m := range streams {
		name := m.file(partial, streamEnding)
		if slices.Contains(recovered, m) || c.run.has(m.file(string(Points), ".parquet")) {
			if c.found.Status != Running {
				c.found.LeftOver = append(c.found.LeftOver, path.Join(partial, m.String()+streamEnding))
			}
			continue
		}
		text, err := disk.Read(c.run.path(name))
		if errors.Is(err, fs.ErrNotExist) { // the point was stored meanwhile
			continue
		}
		rows, err := untornOr(text, err)
		if err != nil {
			c.broken(name, err)
			continue
		}
		c.ended(m, streamEnding, int64(len(rows)), !bytes.HasSuffix(text, streamEnd))
	}
}

func untornOr(text []byte, err error) ([]measure.RequestRow, error) {
	if err != nil {
		return nil, err
	}
	return untorn(text)
}

func (c *check) ended(m Measurement, ending string, n int64, cut bool) {
	c.found.Partial = append(c.found.Partial, Ended{path.Join(partial, m.String()+ending), m.PointID, m.Repeat, m.Attempt, n, cut})
}
