package main

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// printFitted writes a table that is no wider than width: cells that are too wide are wrapped between words, and where a word has no room within it. Nothing
// is left out.
func printFitted(out io.Writer, width int, header []string, rows [][]string) error {
	const gap = 2
	rows = printableRows(rows) // before anything is measured
	widths := fitted(append([][]string{header}, rows...), width-gap*(len(header)-1))
	wrapped := make([][]string, len(rows))
	for i, row := range rows {
		for column, cell := range row {
			wrapped[i] = append(wrapped[i], wrapCell(cell, widths[column]))
		}
	}
	titles := make([]string, len(header))
	for column, title := range header {
		titles[column] = wrapCell(title, widths[column])
	}
	return printTable(out, gap, titles, make([]align, len(header)), wrapped)
}

// fitted gives each column a width so that together they have no more than room: the widest give first, down to their longest word, then the
// first column, and then all.
func fitted(rows [][]string, room int) []int {
	widths, words := make([]int, len(rows[0])), make([]int, len(rows[0]))
	for _, row := range rows {
		for column, cell := range row {
			widths[column] = max(widths[column], utf8.RuneCountInString(cell))
			for word := range strings.FieldsSeq(cell) {
				words[column] = max(words[column], utf8.RuneCountInString(word))
			}
		}
	}
	shrink(widths, words, room)
	const shortName = 12 // the first column, a name, is broken before any word of a figure
	words[0] = min(words[0], shortName)
	shrink(widths, words, room)
	shrink(widths, slices.Repeat([]int{1}, len(widths)), room)
	return widths
}

// shrink takes from the widest column that is above its least, until all fit in room or none is.
func shrink(widths, least []int, room int) {
	for {
		sum, widest := 0, -1
		for column, width := range widths {
			sum += width
			if width > least[column] && (widest < 0 || width > widths[widest]) {
				widest = column
			}
		}
		if sum <= room || widest < 0 {
			return
		}
		widths[widest]--
	}
}

// wrapCell breaks a cell into lines of at most width characters, between words where it can. Blanks at its start are kept.
func wrapCell(cell string, width int) string {
	trimmed := strings.TrimLeft(cell, " ")
	var lines []string
	line := []rune(strings.Repeat(" ", min(len(cell)-len(trimmed), width-1)))
	empty := true // nothing but indentation
	for word := range strings.FieldsSeq(trimmed) {
		rest := []rune(word)
		if !empty && len(line)+1+len(rest) <= width {
			line = append(append(line, ' '), rest...)
			continue
		}
		if !empty {
			lines, line = append(lines, string(line)), nil
		}
		for len(line)+len(rest) > width {
			n := width - len(line)
			lines, line, rest = append(lines, string(line)+string(rest[:n])), nil, rest[n:]
		}
		line, empty = append(line, rest...), false
	}
	return strings.Join(append(lines, string(line)), "\n")
}
