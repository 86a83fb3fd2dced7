package main

import (
	"testing"

	"sweetspot/pipeline/results"
)

func TestAServiceThatMayNotBeDownIsAFailure(t *testing.T) {
	up, down := []results.Execution{{Left: []string{"earlier"}}, {Left: []string{"it failed"}}}, []results.Execution{{Left: []string{"earlier"}}, {}}
	for code, want := range map[int]int{exitOK: exitFailed, exitInfeasible: exitFailed, exitFailed: exitFailed, exitInterrupted: exitInterrupted} {
		var before error
		if code != exitOK {
			before = exit{code: code}
		}
		if got, _ := codeOf(leftExit(before, up)); got != want {
			t.Errorf("after %d it exits with %d, want %d", code, got, want)
		}
		if got, _ := codeOf(leftExit(before, down)); got != code {
			t.Errorf("where all are down %d has become %d", code, got)
		}
	}
}
