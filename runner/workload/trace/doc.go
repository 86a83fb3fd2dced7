// Package trace reads what was recorded of a service's requests: lengths, shared prefixes, times, conversations and agents.
//
// Each form of file is one [Format] and one file of this package. A format cuts a file into entries, which package input does, and says what an entry
// means. It makes no text and knows nothing of a load: package workload asks as a trace says, and package runner decides when.
package trace
