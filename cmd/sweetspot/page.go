package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sweetspot/schema"
)

// page is what a report is written on: for a terminal, or as Markdown.
type page interface {
	heading(text string)
	paragraph(text string)
	list(lines []string)
	table(header []string, aligned []align, rows [][]string)
	drawing(lines []string) // kept as it is
	err() error
}

// textPage is for a terminal of some width.
type textPage struct {
	out    io.Writer
	width  int
	begun  bool
	broken error
}

// space leaves a line free between blocks.
func (p *textPage) space() {
	if p.begun {
		fmt.Fprintln(p.out)
	}
	p.begun = true
}

func (p *textPage) heading(text string) {
	p.space()
	fmt.Fprintln(p.out, wrap(text, p.width))
	p.begun = false // its block follows at once
}

func (p *textPage) paragraph(text string) {
	p.space()
	fmt.Fprintln(p.out, wrap(text, p.width))
}

func (p *textPage) list(lines []string) {
	p.space()
	for _, line := range lines {
		fmt.Fprintln(p.out, wrap(line, p.width))
	}
}

func (p *textPage) table(header []string, aligned []align, rows [][]string) {
	p.space()
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i] = slices.Clone(rows[i])
		for j := range rows[i] {
			rows[i][j] = schema.Printable(rows[i][j]) // no line of its own
		}
	}
	if err := printTable(p.out, 2, header, aligned, rows); err != nil && p.broken == nil {
		p.broken = err
	}
}

func (p *textPage) drawing(lines []string) {
	p.space()
	fmt.Fprintln(p.out, strings.Join(lines, "\n"))
}

func (p *textPage) err() error { return p.broken }

// markdownPage is GitHub's Markdown.
type markdownPage struct {
	out    io.Writer
	broken error
}

func (p *markdownPage) write(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format, args...); err != nil && p.broken == nil {
		p.broken = err
	}
}

// markdownEscapes have what Markdown would take for its own. Names of figures stand in code.
var markdownEscapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `~`, `\~`, `|`, `\|`, `<`, `&lt;`, `>`, `&gt;`, `_`, `\_`, "`", "\\`", "[", `\[`, "\n", " ")

func markdown(text string) string { return markdownEscapes.Replace(schema.PrintableLines(text)) }

func (p *markdownPage) heading(text string) { p.write("### %s\n\n", markdown(text)) }

func (p *markdownPage) paragraph(text string) { p.write("%s\n\n", markdown(text)) }

func (p *markdownPage) list(lines []string) {
	for _, line := range lines {
		p.write("* %s\n", markdown(line))
	}
	p.write("\n")
}

func (p *markdownPage) table(header []string, aligned []align, rows [][]string) {
	p.row(header)
	rule := make([]string, len(aligned))
	for i, a := range aligned {
		rule[i] = "---"
		if a == right {
			rule[i] = "--:"
		}
	}
	p.write("|%s|\n", strings.Join(rule, "|"))
	for _, row := range rows {
		p.row(row)
	}
	p.write("\n")
}

func (p *markdownPage) row(cells []string) {
	p.write("|")
	for _, cell := range cells {
		p.write(" %s |", markdown(cell))
	}
	p.write("\n")
}

func (p *markdownPage) drawing(lines []string) {
	p.write("```\n%s\n```\n\n", strings.Join(lines, "\n"))
}

func (p *markdownPage) err() error { return p.broken }
