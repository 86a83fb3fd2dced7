// Package results keeps what was measured: one directory per run, in which Parquet files hold the requests, the points and the verdict on each
// trial, and a manifest says what was run.
//
// Every figure is a column of a row type ([measure.RequestRow], [measure.Point], [TrialRow]); this package maps row types to Arrow and back
// and knows nothing of what a figure means, how it was measured or which point is chosen. It is the only one that imports Arrow.
//
// A file is written under a temporary name, synced and renamed, so it is there whole or not at all; none is ever overwritten. The requests of
// a point that is still running go to an append-only stream beside the tables, from which those that had ended survive a kill.
package results
