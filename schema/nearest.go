package schema

import "strings"

// nearest is the one of names that name is most likely a slip of, or "": the one with the fewest slips, and of several the one that begins alike, or
// else one that begins with the whole of name.
func nearest(name string, names []string) string {
	const slips = 2 // more are another word
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	best, least, alike := "", slips+1, -1
	for _, candidate := range names {
		d, begin := distance(name, candidate), common(name, candidate)
		if d*2 <= len(candidate) && (d < least || d == least && begin > alike) {
			best, least, alike = candidate, d, begin
		}
	}
	for _, candidate := range names {
		if best == "" && len(name) > 3 && strings.HasPrefix(candidate, name) {
			best = candidate
		}
	}
	return best
}

// common is how many bytes a and b have in common at their beginnings.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is the number of bytes to insert, delete or replace to make a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1]) // row[j] is of this row already, row[j+1] of the one above
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// Nearest is the one of names that name is most likely a slip of, "" where it is none.
func Nearest(name string, names []string) string { return nearest(name, names) }
