// Package imports brings results from elsewhere into the store: what other benchmarking tools and older forms of saved presets wrote becomes runs like any
// other, in the same tables.
//
// Each format is one file here, behind [Format]; a new one is one more. A format reads figures by what they mean and not by what they are called: what a tool
// measures otherwise than package measure lays down is null, or said in the notes of the run. The package judges nothing and drives nothing. It only reads the files it is
// given, which keep every byte; the run gets copies without secrets.
package imports
