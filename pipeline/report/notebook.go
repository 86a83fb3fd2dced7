package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// cells are the notebook's cells, each behind a line that begins with cellMark.
//
//go:embed cells.py
var cells string

const (
	cellMark   = "\n# %%"
	textMark   = " [markdown]" // behind the mark of a cell of text, each line of which is a comment
	runsInCell = "RUNS = []"   // where the runs' directories come
)

// textCell and codeCell are cells as a notebook's file has them.
type textCell struct {
	ID       string         `json:"id"`
	Kind     string         `json:"cell_type"`
	Metadata map[string]any `json:"metadata"`
	Source   []string       `json:"source"`
}

type codeCell struct {
	textCell
	Count   *int  `json:"execution_count"` // null: it has not been run
	Outputs []any `json:"outputs"`
}

// WriteNotebook writes a Jupyter notebook (nbformat 4.5) that reads the runs in dirs with polars and draws with matplotlib. The directories are paths
// from where the notebook will lie, or absolute; nothing else of the runs is in it.
func WriteNotebook(w io.Writer, dirs []string) error {
	list, err := json.Marshal(dirs) // which Python reads as a list too
	if err != nil {
		return fmt.Errorf("writing a notebook: %w", err)
	}
	var all []any
	for i, text := range strings.Split(strings.Replace(cells, runsInCell, "RUNS = "+string(list), 1), cellMark)[1:] {
		all = append(all, cellOf(i, text))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	err = encoder.Encode(map[string]any{
		"cells": all, "nbformat": 4, "nbformat_minor": 5,
		"metadata": map[string]any{
			"kernelspec":    map[string]string{"display_name": "Python 3", "language": "python", "name": "python3"},
			"language_info": map[string]string{"name": "python"},
		},
	})
	if err != nil {
		return fmt.Errorf("writing a notebook: %w", err)
	}
	return nil
}

func cellOf(index int, text string) any {
	head, body, _ := strings.Cut(text, "\n")
	cell := textCell{ID: fmt.Sprintf("cell-%d", index), Kind: "code", Metadata: map[string]any{}, Source: strings.SplitAfter(strings.TrimSpace(body), "\n")}
	if head != textMark {
		return codeCell{textCell: cell, Outputs: []any{}}
	}
	cell.Kind = "markdown"
	for i, line := range cell.Source {
		cell.Source[i] = strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ")
	}
	return cell
}
