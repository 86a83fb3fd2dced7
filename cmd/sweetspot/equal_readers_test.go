package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Other programs: pyarrow reads the tables and the exports that are not text, and the notebook is run.
func (s *sources) checkReaders(t *testing.T) {
	environment := os.Getenv("SWEETSPOT_READERS")
	if environment == "" {
		t.Skip("SWEETSPOT_READERS is not set")
	}
	python := filepath.Join(environment, "bin", "python")
	for _, table := range []string{"points", "trials"} {
		for _, format := range []string{"parquet", "arrow"} {
			sweetspotIn(t, s.dir, "export", s.id, "--table", table, "--format", format, "-o", table+"."+format)
		}
		read := printedBy[map[string][]row](t, python, filepath.Join("testdata", "read_exports.py"), s.dir, s.id, table)
		for _, from := range []string{"stored", "parquet", "arrow"} {
			s.checkTable(t, table+" from "+from, table, read[from])
		}
	}
	sweetspotIn(t, s.dir, "export", s.id, "--format", "notebook", "-o", "look.ipynb")
	script := filepath.Join("..", "..", "pipeline", "report", "testdata", "run_notebook.py")
	s.checkNotebook(t, printedBy[notebook](t, python, script, filepath.Join(s.dir, "look.ipynb"), s.dir))
}

// printedBy runs a program and reads the JSON that it prints.
func printedBy[T any](t *testing.T, name string, args ...string) (value T) {
	t.Helper()
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &value)
	}
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return value
}

// notebook is what a notebook had and drew: its figures' axes.
type notebook struct {
	Rows  []row
	Drawn [][]struct {
		Lines [][][]float64 // of each line its points
		Bars  []float64     // their lengths
	}
}

// The notebook has the rows of the trials table, and draws them: the two curves, the distributions of the selected points, and these beside each other.
func (s *sources) checkNotebook(t *testing.T, n notebook) {
	t.Helper()
	s.checkTable(t, "notebook", "trials", n.Rows)
	const curves, distributions, chosen = 0, 1, 3 // places among the figures
	if len(n.Drawn) != 4 {
		t.Fatalf("%d figures", len(n.Drawn))
	}
	var bars []float64
	var ecdf [][]float64
	for axis, of := range []struct {
		column string
		scale  float64
	}{{"output_tok_per_s", 1}, {"ttft_p50_s", 1000}} {
		var wanted, selected []float64
		for _, trial := range s.document {
			for _, p := range trial.Points {
				v := number(t, p.row[of.column]) * of.scale
				wanted = append(wanted, v, v) // in the line, and as its mark
				if p.row["selected"] != "true" {
					continue
				}
				selected = append(selected, v)
				if axis == 0 {
					ecdf = append(ecdf, s.ttft(t, p.row["point_id"]))
				}
			}
		}
		var drawn []float64
		for _, line := range n.Drawn[curves][axis].Lines {
			for _, at := range line {
				drawn = append(drawn, at[1])
			}
		}
		slices.Sort(wanted)
		slices.Sort(drawn)
		if diff := cmp.Diff(wanted, drawn); diff != "" {
			t.Errorf("curve of %s: %s", of.column, diff)
		}
		if bars = n.Drawn[chosen][axis].Bars; !slices.Equal(selected, bars) {
			t.Errorf("bars of %s are %v, and %v in the document", of.column, bars, selected)
		}
	}
	for i, line := range n.Drawn[distributions][0].Lines {
		for j, at := range line[1:] { // the first begins at no request
			if at[0] != ecdf[i][j]*1000 {
				t.Errorf("distribution %d has %v at %d, and the requests %v", i, at[0], j, ecdf[i][j])
			}
		}
	}
}
