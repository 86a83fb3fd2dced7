package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sweetspot/presets"
)

// A watch draws at once and at each tick, and ends when it is told to. Nothing here waits for a clock: the ticks are the test's.
func TestAWatchDrawsAtEachTickAndEndsOnInterrupt(t *testing.T) {
	told, tick := make(chan os.Signal, 1), make(chan time.Time)
	drawn := make(chan string)
	n := 0
	draw := func(out io.Writer) error {
		n++
		_, err := fmt.Fprintf(out, "drawing %d\n", n)
		return err
	}
	show := func(text []byte) error { drawn <- string(text); return nil }
	ended := make(chan error)
	go func() { ended <- watch(told, tick, show, draw) }()
	for i := 1; i <= 3; i++ {
		if got, want := <-drawn, fmt.Sprintf("drawing %d\n", i); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if i < 3 {
			tick <- time.Time{}
		}
	}
	told <- os.Interrupt
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAWatchEndsWithTheFirstFault(t *testing.T) {
	fault := errors.New("no such store")
	err := watch(nil, nil, func([]byte) error { return nil }, func(io.Writer) error { return fault })
	if !errors.Is(err, fault) {
		t.Errorf("error %v", err)
	}
}

// In a file or a pipe there is nothing to draw over: what has not changed is not written again.
func TestAWatchInAPipeWritesChanges(t *testing.T) {
	var out bytes.Buffer
	show := (&process{stdout: &out}).redraw()
	for _, drawn := range []string{"a\n", "a\n", "b\n", "b\n"} {
		if err := show([]byte(drawn)); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != "a\n\nb\n" {
		t.Errorf("%q", out.String())
	}
}

// A list that is higher than its terminal would be drawn below itself again and again: what does not fit is counted.
func TestAWatchFitsItsTerminal(t *testing.T) {
	for height, want := range map[int]string{0: "a\nb\nc\n", 1: "… 3 lines more\n", 2: "a\n… 2 lines more\n", 3: "a\nb\nc\n", 4: "a\nb\nc\n"} {
		if got := string(atMost([]byte("a\nb\nc\n"), height)); got != want {
			t.Errorf("%d lines: %q, want %q", height, got, want)
		}
	}
}

// Whatever the width, no character is lost but blanks, and where each column can have one no line is wider.
func TestAFittedTableLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`([a-z=.█▁·*]{1,30}( [a-z=.█▁·*]{1,12}){0,4})?`)
		columns := rapid.IntRange(1, 6).Draw(t, "columns")
		header := make([]string, columns)
		for i := range header {
			header[i] = fmt.Sprintf("H%d", i)
		}
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, columns, columns), 1, 5).Draw(t, "rows")
		width := rapid.IntRange(20, 120).Draw(t, "width")
		var out bytes.Buffer
		if err := printFitted(&out, width, header, rows); err != nil {
			t.Fatal(err)
		}
		count := func(text string) map[rune]int {
			n := map[rune]int{}
			for _, r := range text {
				n[r]++
			}
			delete(n, ' ')
			delete(n, '\n')
			return n
		}
		want := count(strings.Join(header, ""))
		for _, row := range rows {
			for r, n := range count(strings.Join(row, "")) {
				want[r] += n
			}
		}
		if got := count(out.String()); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v in\n%s", got, want, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d characters, %d fit: %s", n, width, line)
			}
		}
	})
}

// A run that an earlier one's trial wins shows that trial's figures beside its own constraints.
func TestFiguresOfAnEarlierRunAreMarked(t *testing.T) {
	own, earlier := presets.TrialBrief{TrialID: "a"}, presets.TrialBrief{TrialID: "b"}
	run := &presets.Listed{Brief: presets.Brief{TrialsPlanned: 1, Trials: []presets.TrialBrief{own, earlier}}}
	for winner, want := range map[string]string{"a": "", "b": markEarlier} {
		run.Winner = &winner
		if got := earlierMark(run); got != want {
			t.Errorf("winner %s: %q, want %q", winner, got, want)
		}
	}
	run.Winner = nil
	if got := earlierMark(run); got != "" {
		t.Errorf("no winner: %q", got)
	}
}
