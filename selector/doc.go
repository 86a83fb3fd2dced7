// Package selector chooses: for each trial the point with the highest throughput among those that meet the limits, and among trials the best.
//
// It is a pure function of stored rows and a rule, so that a run can be judged again under another limit without driving anything. What is not
// known never passes: a missing figure makes a point ineligible, with a reason that names it. [Judge] judges one trial's points, [Across] ranks
// trials; both say what they found as values and in words. The package reads and writes no files: rows come from package results, and tables are
// drawn by the command.
//
// The rule is laid down in docs/reference/measurement.md.
package selector
