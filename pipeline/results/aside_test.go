package results

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever happened to whatever file, after it was set aside nothing of the run is broken, the file lies in damaged/, all others are as they were, and its number is used up.
func TestWhatIsDamagedIsSetAside(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	w := damaged(t)
	random := rand.New(rand.NewPCG(1, 7))
	for _, name := range resultFiles(t, w.Dir()) {
		for what, damage := range damages {
			again := damagedCopy(t, w, name, func(text []byte) []byte { return damage(random, text) })
			texts := textsBelow(t, again.Dir())
			next, err := again.NextAttempts()
			if err != nil {
				t.Fatal(err)
			}
			looked, err := again.SetAside()
			aside := looked.Aside
			if err != nil || len(aside) == 0 || aside[0].File != name && !strings.HasPrefix(aside[0].File, string(Points)) {
				t.Errorf("%s, %s: set aside %v, %v", name, what, aside, err)
			}
			whole(t, again.Dir())
			checkKept(t, again, name, texts)
			after, err := again.NextAttempts()
			for of, n := range next {
				if after[of] != n {
					t.Errorf("%s, %s: the next attempt at %v was %d and is %d, %v", name, what, of, n, after[of], err)
				}
			}
			if looked, err := again.SetAside(); len(looked.Aside) != 0 || err != nil {
				t.Errorf("%s, %s: a second time %v, %v", name, what, looked.Aside, err)
			}
			again.Close()
		}
	}
}

// damagedCopy is a run like w, taken hold of again, in which one file is another.
func damagedCopy(t *testing.T, w *Writer, name string, damage func(text []byte) []byte) *Writer {
	t.Helper()
	return resume(t, damagedDir(t, w, name, damage))
}

// textsBelow gives what stands in the Parquet files of a run, by name.
func textsBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range resultFiles(t, dir) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// checkKept holds every file against what it was, in its place or in damaged/, where the one that was damaged must be.
func checkKept(t *testing.T, w *Writer, damaged string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		kept, err := os.ReadFile(filepath.Join(w.Dir(), asideFolder, name))
		if err != nil && name != damaged {
			kept, err = os.ReadFile(w.path(name))
		}
		if err != nil || string(kept) != text {
			t.Errorf("%s, with %s damaged: kept %d bytes of %d, %v", name, damaged, len(kept), len(text), err)
		}
	}
}

// What is gone can't be kept: its name is struck off the checksums, and what can't stand without it is set aside.
func TestWhatIsGoneIsStruckOff(t *testing.T) {
	w := damaged(t)
	for _, name := range resultFiles(t, w.Dir()) {
		again := damagedCopy(t, w, name, func([]byte) []byte { return nil })
		if err := os.Remove(again.path(name)); err != nil {
			t.Fatal(err)
		}
		if _, err := again.SetAside(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		whole(t, again.Dir())
		again.Close()
	}
}

// A file that is none of sweetspot's stays where someone put it.
func TestAStrangeFileIsNotSetAside(t *testing.T) {
	w := newRun(t)
	measured(t, w, pointA, 0, 4)
	strange := w.path("points/copy of a point.parquet")
	if err := os.WriteFile(strange, []byte("x"), fileMode); err != nil {
		t.Fatal(err)
	}
	if looked, err := w.SetAside(); len(looked.Aside) != 0 || err != nil {
		t.Errorf("%v, %v", looked.Aside, err)
	}
	if _, err := os.Stat(strange); err != nil {
		t.Error(err)
	}
}
