package main

import (
	"fmt"
	"strings"

	"sweetspot/selector"
	"sweetspot/selector/format"
)

// The size of a plot's field, in characters.
const (
	plotWidth  = 60
	plotHeight = 12
)

// plotFront draws points by throughput, upwards, and pace for one user, to the right. A side's points are its letter: a capital on the front, a small
// one behind it; where several fall upon one place, one on the front is drawn. Both axes begin at 0.
func plotFront(f *selector.Front) []string {
	var most selector.Tradeoff
	for _, p := range f.Points {
		most.Throughput, most.User = max(most.Throughput, p.Throughput), max(most.User, p.User)
	}
	field := make([][]byte, plotHeight)
	for i := range field {
		field[i] = []byte(strings.Repeat(" ", plotWidth))
	}
	for _, onFront := range []bool{false, true} { // the front last, over the others
		for _, p := range f.Points {
			if p.OnFront != onFront {
				continue
			}
			x, y := int(p.User/most.User*(plotWidth-1)), int(p.Throughput/most.Throughput*(plotHeight-1))
			field[plotHeight-1-y][x] = letter(p)
		}
	}
	top := format.Number(most.Throughput)
	lines := make([]string, 0, plotHeight+2)
	for i, row := range field {
		label := ""
		switch i {
		case 0:
			label = top
		case plotHeight - 1:
			label = "0"
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%*s |%s", len(top), label, row), " "))
	}
	end := format.Number(most.User)
	lines = append(lines, fmt.Sprintf("%*s +%s", len(top), "", strings.Repeat("-", plotWidth)))
	return append(lines, fmt.Sprintf("%*s  0%*s  tok/s per user", len(top), "", plotWidth-1, end))
}

// letter is that of the point's side; beyond Z it is o.
func letter(p selector.FrontPoint) byte {
	const letters = 26
	switch {
	case p.Side >= letters && p.OnFront:
		return 'O'
	case p.Side >= letters:
		return 'o'
	case p.OnFront:
		return byte('A' + p.Side)
	}
	return byte('a' + p.Side)
}
