// Package compare holds trials and runs against each other: the same points side by side, each change with what the repeats say of it, what else
// differs, which points only one of them has, the winners, the Pareto front, and whether declared conditions on changes are met.
//
// It is a pure function of judged trials: it reads no store (package pipeline makes its sides) and prints nothing. Nothing is dropped in silence: a point
// without its counterpart, a figure that is missing and a point that can't be trusted each stand in the comparison with their reason.
package compare
