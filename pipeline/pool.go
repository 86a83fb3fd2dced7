package pipeline

import (
	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
)

// keep remembers what the requests of a measurement give as a part of its point's sample. A point with one repeat has that in its row.
func (e *execution) keep(job Job, records []measure.Record) {
	pool := &measure.Pool{}
	pool.AddAll(records)
	e.pools[job.of()] = pool
}

// stored is what a trial is judged by.
func (e *execution) stored(trial *Trial) stored {
	from := stored{e.rows, map[sample]measure.Pooled{}}
	for _, point := range trial.Points {
		for _, stage := range []string{stageSweep, stageVerify} {
			first, after := trial.repeatsOf(stage)
			if pooled := e.pooled(point.ID, first, after); pooled != nil {
				from.pooled[sample{point.ID, stage}] = *pooled
			}
		}
	}
	return from
}

// pooled takes the requests of some repeats of a point together; nil where fewer than two of them are there, and where the requests of an earlier
// execution can't be read: the point then has no intervals, which is told.
func (e *execution) pooled(pointID string, first, after int64) *measure.Pooled {
	var repeats []measure.Point
	for repeat := first; repeat < after; repeat++ {
		if row, there := e.rows[results.PointRepeat{PointID: pointID, Repeat: repeat}]; there {
			repeats = append(repeats, row)
		}
	}
	if len(repeats) < 2 {
		return nil
	}
	var all measure.Pool
	for _, row := range repeats {
		pool, err := e.pool(results.MeasurementOf(row.Keys))
		if err != nil {
			e.note("there are no intervals over the repeats: " + err.Error())
			return nil
		}
		all.Merge(pool)
	}
	pooled := all.Pooled()
	return &pooled
}

// pool is what one measurement gives, read from its requests where an earlier execution made it.
func (e *execution) pool(m results.Measurement) (*measure.Pool, error) {
	if kept := e.pools[m.Of()]; kept != nil {
		return kept, nil
	}
	pool := &measure.Pool{}
	for row, err := range e.run.Requests(m) {
		if err != nil {
			return nil, err
		}
		pool.Add(&row.Record)
	}
	e.pools[m.Of()] = pool
	return pool, nil
}
