package main

import (
	"os"
	"strconv"

	"golang.org/x/term"
)

// textWidth is the width of text where there is no terminal to ask.
const textWidth = 100

// width is how many columns standard output has: the terminal's, else $COLUMNS, else textWidth.
func (p *process) width() int {
	if width := p.terminalWidth(); width > 0 {
		return width
	}
	if text, ok := p.lookupEnv("COLUMNS"); ok {
		if width, err := strconv.Atoi(text); err == nil && width > 0 {
			return width
		}
	}
	return textWidth
}

// isTerminal reports whether what is written to standard error is seen at once, and can be drawn over.
func (p *process) isTerminal() bool {
	file, ok := p.stderr.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// terminalWidth is how many columns the terminal has that standard output is; 0 where it is none.
func (p *process) terminalWidth() int {
	width, _ := p.terminalSize()
	return width
}

// terminalSize is how many columns and lines that terminal has; 0 where it is none.
func (p *process) terminalSize() (width, height int) {
	if file := p.stdoutFile(); file != nil {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil {
			return width, height
		}
	}
	return 0, 0
}
