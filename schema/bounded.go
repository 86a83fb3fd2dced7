package schema

import (
	"bytes"
	"fmt"
	"runtime/metrics"
	"time"
)

// The bounds of evaluating a CUE file, which is a program that may compute as much as it likes.
const (
	longestEvaluation = 10 * time.Second
	MostEvaluation    = 1 << 30 // bytes by which the heap may grow
)

// MayLeap reports whether a CUE file may ask for any amount of memory in one step: with a function of a package, or by multiplying a text. Whatever else
// it computes grows step by step, and [Read] watches that.
func MayLeap(src []byte) bool {
	return bytes.Contains(src, []byte("import")) || bytes.ContainsRune(src, '*')
}

// GivenUp evaluates a CUE file as [Read] does and says why that is given up; it is empty where it is not, whatever else is wrong with the file.
//
// It is for a process that can be lost, and for files that [MayLeap]: no bound but the machine's own stops a single huge allocation. Of a process that was lost for want of memory, [TooLarge] is what to say.
func GivenUp(src []byte) string {
	c := cueReader{newReader("")}
	file := c.parse(src)
	if file == nil {
		return ""
	}
	return bounded(longestEvaluation, MostEvaluation, func() { c.evaluate(file, place{}) })
}

// TooLarge says that evaluating a file needs more than [MostEvaluation].
func TooLarge() string { return tooLarge(MostEvaluation) }

func tooLarge(most uint64) string {
	return fmt.Sprintf("needs more than %d MiB of memory to evaluate", most>>20)
}

// bounded runs compute and gives up after a time, or where the heap has grown too much meanwhile: then it says so, and otherwise nothing.
//
// What is given up runs on, as Go can't end it: the caller must not touch what it writes, and should end the process soon. Memory is looked at
// every 20ms, so that one huge allocation between two looks is not caught: see [GivenUp].
func bounded(longest time.Duration, most uint64, compute func()) string {
	before := heap()
	ended := make(chan string, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				ended <- fmt.Sprintf("can't be evaluated: %v", cause)
			}
		}()
		compute()
		ended <- ""
	}()
	late := time.NewTimer(longest)
	defer late.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case message := <-ended:
			return message
		case <-late.C:
			return fmt.Sprintf("takes longer than %v to evaluate", longest)
		case <-look.C:
			if now := heap(); now > before && now-before > most {
				return tooLarge(most)
			}
		}
	}
}

// heap is what the process has allocated and not yet freed, in bytes.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
