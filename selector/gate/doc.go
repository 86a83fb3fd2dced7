// Package gate reads and holds conditions on figures, for whoever lets a program decide: --require 'ttft_p50_s <= 0.3' holds one run's selected
// point against a level, --fail-if 'ttft_p50_s > +5%' holds a change between two runs against a threshold.
//
// What is not known meets no requirement, and a change that the repeats can't tell from noise is neither tripped nor clear. The package is pure: it
// compares no runs itself (package compare does) and ends no process.
package gate
