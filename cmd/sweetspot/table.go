package main

import (
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwarp"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"sweetspot/schema"
)

// align is where the text of a table's column stands.
type align bool

const (
	left  align = false
	right align = true
)

// printTable writes rows under a header, without lines between them; gap blanks stand between columns. It is the only use of tablewriter.
func printTable(out io.Writer, gap int, header []string, aligned []align, rows [][]string) error {
	alignment := make(tw.Alignment, len(aligned))
	for i, a := range aligned {
		alignment[i] = tw.AlignLeft
		if a == right {
			alignment[i] = tw.AlignRight
		}
	}
	columns := tw.CellAlignment{PerColumn: alignment}
	padding := tw.CellPadding{Global: tw.Padding{Right: strings.Repeat(" ", gap), Overwrite: true}}
	unchanged := tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone}
	var text strings.Builder
	table := tablewriter.NewTable(&text,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
		})),
		tablewriter.WithConfig(tablewriter.Config{
			Header: tw.CellConfig{Alignment: columns, Padding: padding, Formatting: unchanged},
			Row:    tw.CellConfig{Alignment: columns, Padding: padding, Formatting: unchanged},
		}))
	table.Header(header)
	if err := table.Bulk(printableRows(rows)); err != nil {
		return err
	}
	if err := table.Render(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := io.WriteString(out, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// printableRows are the rows without what no cell may have; see [schema.PrintableLines].
func printableRows(rows [][]string) [][]string {
	made := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			made[i] = append(made[i], schema.PrintableLines(cell))
		}
	}
	return made
}

// wrap breaks a paragraph into lines of at most width columns. A number stays beside its percent sign.
func wrap(paragraph string, width int) string {
	const apart, joined = " %", "\uE000%" // any character that is no blank
	lines, _ := twwarp.WrapString(strings.ReplaceAll(schema.PrintableLines(paragraph), apart, joined), width)
	return strings.ReplaceAll(strings.Join(lines, "\n"), joined, apart)
}
