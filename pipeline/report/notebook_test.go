package report

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestANotebookNamesItsRuns(t *testing.T) {
	var out bytes.Buffer
	if err := WriteNotebook(&out, []string{"results/0a1b2c3d", `a "b`}); err != nil {
		t.Fatal(err)
	}
	var notebook struct {
		Cells []struct {
			Kind   string   `json:"cell_type"`
			Source []string `json:"source"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &notebook); err != nil {
		t.Fatal(err)
	}
	if len(notebook.Cells) != 12 || notebook.Cells[0].Kind != "markdown" || notebook.Cells[0].Source[0] != "# What was measured\n" {
		t.Errorf("%d cells, the first %v", len(notebook.Cells), notebook.Cells[0])
	}
	if code := strings.Join(notebook.Cells[1].Source, ""); !strings.Contains(code, `RUNS = ["results/0a1b2c3d","a \"b"]`) {
		t.Errorf("the code does not name the runs: %s", code)
	}
}

// A notebook runs as a person would run it: each figure is drawn, and the rows are those of the document.
func TestANotebookRuns(t *testing.T) {
	environment := os.Getenv("SWEETSPOT_READERS")
	if environment == "" {
		t.Skip("SWEETSPOT_READERS is not set")
	}
	run := judged(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "look.ipynb")
	dir, err := filepath.Rel(folder, run.Run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteNotebook(&out, []string{dir}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(filepath.Join(environment, "bin", "python"), filepath.Join("testdata", "run_notebook.py"), path, folder)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Colours []int
		Rows    []struct {
			PointID       string   `json:"point_id"`
			OutputTokPerS *float64 `json:"output_tok_per_s"`
			TTFTP50       *float64 `json:"ttft_p50_s"`
			Selected      bool     `json:"selected"`
		}
	}
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Colours) != 4 {
		t.Errorf("%d figures, want 4", len(got.Colours))
	}
	for i, colours := range got.Colours {
		if colours < 10 {
			t.Errorf("figure %d has %d colours: it is blank", i, colours)
		}
	}
	found := 0
	for _, trial := range run.Document.Trials {
		for _, p := range trial.Points {
			for _, row := range got.Rows {
				if row.PointID == p.PointID {
					found++
					if !same(row.OutputTokPerS, p.Medians.OutputTokPerS) || !same(row.TTFTP50, p.Medians.TTFT.P50) || row.Selected != p.Selected {
						t.Errorf("row %+v, want %+v", row, p)
					}
				}
			}
		}
	}
	if found != 6 || len(got.Rows) != 6 {
		t.Errorf("%d rows of which %d are points, want 6", len(got.Rows), found)
	}
}
