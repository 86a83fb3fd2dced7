package results

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Lost says in one error which files of some tables, or of all where none is named, were written and are not there any more: the checksums name them. It is
// nil where there are none. What a kill kept from having its name was never there.
func (r *Run) Lost(tables ...Table) error {
	c := &check{run: r}
	c.found.Status = r.Status()
	c.readSums()
	c.listed()
	var gone []string
	for _, b := range c.found.Broken {
		folder := Table(path.Dir(b.File))
		if b.File != sumsFile && (len(tables) == 0 || slices.Contains(tables, folder)) {
			gone = append(gone, b.File)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	const most = 3
	named := gone[:min(most, len(gone))]
	more := ""
	if len(gone) > most {
		more = fmt.Sprintf(" and %d more", len(gone)-most)
	}
	return fmt.Errorf("reading run %s: %s names files that are not there: %s%s", r.dir, sumsFile, strings.Join(named, ", "), more)
}
