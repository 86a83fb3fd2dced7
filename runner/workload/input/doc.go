// Package input reads the entries of a workload's file as they are needed, so that a file of any size is replayed in constant memory.
//
// A file is read whole once, by [Read], which finds its faults, its digest and, sparsely, where its entries lie; then [Book.At] gives entries in any
// order. How a kind of file is cut into entries is a [Format], one file of this package each; what an entry means is its caller's, a parse function.
// Package workload makes requests of entries.
package input
