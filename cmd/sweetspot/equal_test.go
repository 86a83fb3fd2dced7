package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/pipeline/results"
	"sweetspot/runner/measure"
)

// equalPreset has medians over repeats, figures that are not known, and failed requests.
const equalPreset = `name: equal
model: simulated
load: {concurrency: [2, 4], requests: 24, repeats: 2}
workload: {random: {prompt_tokens: 40, output_tokens: 8}}
limits: {max_ttft: 300ms, max_error_rate: 0.9}
trials:
  sound: {service: {simulator: {profile: large-gpu, gpus: {name: H200, count: 2, price_per_gpu_hour: 3.5}}}}
  faulty: {service: {simulator: {profile: large-gpu, faults: [{kind: http_error, from_request: 8, probability: 0.3}]}}}
`

// row is a row or an object of some source: its cells as [canonical] writes them, by name.
type row map[string]string

// sources are all places that the figures of one run appear in.
type sources struct {
	dir, id  string // of the store, and the run's id
	printed  string
	document []trialJSON
	points   map[string]row // of the document's repeats
	medians  map[string]row // of the document's points
}

type trialJSON struct {
	ID      string  `json:"trial_id"`
	Name    string  `json:"trial_name"`
	Verdict string  `json:"verdict"`
	Points  []point `json:"points"`
}

// point is a point of the document: what it has beside its columns, and these.
type point struct {
	row
	Repeats []row
	Limits  []map[string]any
}

func (p *point) UnmarshalJSON(text []byte) error {
	var nested struct {
		Repeats []row            `json:"repeats"`
		Limits  []map[string]any `json:"limits"`
	}
	if err := errors.Join(json.Unmarshal(text, &p.row), json.Unmarshal(text, &nested)); err != nil {
		return err
	}
	p.Repeats, p.Limits = nested.Repeats, nested.Limits
	return nil
}

func (r *row) UnmarshalJSON(text []byte) error {
	var cells map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&cells); err != nil {
		return err
	}
	*r = row{}
	for name, cell := range cells {
		(*r)[name] = canonical(cell)
	}
	return nil
}

// canonical writes a cell so that every source's way of writing one value is the same: nothing for what is not known, as CSV has it, and a number so that no
// digit of it is lost.
func canonical(cell any) string {
	text, isText := cell.(string)
	switch cell := cell.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(cell)
	case json.Number:
		text = cell.String()
	default:
		if !isText {
			all, err := json.Marshal(cell)
			if err != nil {
				panic(err) // it was decoded from JSON
			}
			return string(all)
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if _, whole := strconv.ParseInt(text, 10, 64); err != nil || whole == nil {
		return text
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// number is a canonical cell as a number.
func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sweetspotIn runs the command and gives its standard output. Its exit code hangs on how busy the machine is.
func sweetspotIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("sweetspot", args...)
	command.Dir, command.Env, command.Stderr = dir, append(os.Environ(), "COLUMNS=250"), os.Stderr
	out, err := command.Output()
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) {
		t.Fatalf("sweetspot %v: %v", args, err)
	}
	return string(out)
}

// Whoever looks at a run, by whatever way, sees the same figures: to the last digit, and in the table as many as are printed.
func TestAFigureIsTheSameWhereverItAppears(t *testing.T) {
	if testing.Short() {
		t.Skip("drives no load")
	}
	s := measuredOnce(t)
	t.Run("documents", s.checkDocuments)
	t.Run("tables", s.checkStored)
	t.Run("exports", s.checkExports)
	t.Run("printed", s.checkPrinted)
	t.Run("report", s.checkReport)
	t.Run("readers and notebook", s.checkReaders)
}

func measuredOnce(t *testing.T) *sources {
	t.Helper()
	s := &sources{dir: t.TempDir(), points: map[string]row{}, medians: map[string]row{}}
	if err := os.WriteFile(filepath.Join(s.dir, "equal.yaml"), []byte(equalPreset), 0o600); err != nil {
		t.Fatal(err)
	}
	s.printed = sweetspotIn(t, s.dir, "run", "-q", "equal.yaml")
	var document struct {
		ID     string      `json:"run_id"`
		Trials []trialJSON `json:"trials"`
	}
	if err := json.Unmarshal([]byte(sweetspotIn(t, s.dir, "show", "latest", "--json")), &document); err != nil {
		t.Fatal(err)
	}
	s.id, s.document = document.ID, document.Trials
	failed := 0.
	for _, trial := range s.document {
		for _, p := range trial.Points {
			for _, name := range []string{"trial_id", "trial_name"} {
				p.row[name] = map[string]string{"trial_id": trial.ID, "trial_name": trial.Name}[name]
			}
			s.medians[p.key()] = p.row
			failed += number(t, p.row["requests_issued"]) - number(t, p.row["requests_ok"])
			for _, r := range p.Repeats {
				s.points[r.key()] = r
			}
		}
	}
	if len(s.medians) != 4 || len(s.points) != 8 || failed == 0 {
		t.Fatalf("%d points, %d measurements, %v failed requests", len(s.medians), len(s.points), failed)
	}
	return s
}

// key names a measurement, or a point where the row is of one.
func (r row) key() string { return r["point_id"] + "-" + r["repeat"] }

// The document is the same whichever command prints it.
func (s *sources) checkDocuments(t *testing.T) {
	shown := sweetspotIn(t, s.dir, "show", "latest", "--json")
	for _, args := range [][]string{{"run", "-q", "equal.yaml", "--resume", "latest", "--json"}, {"select", "latest", "--json"}, {"show", s.id, "--json"}} {
		if diff := cmp.Diff(shown, sweetspotIn(t, s.dir, args...)); diff != "" {
			t.Errorf("%v: %s", args, diff)
		}
	}
	var got struct {
		Benchmarks []struct {
			PointID string `json:"point_id"`
			Metrics row    `json:"metrics"`
		} `json:"benchmarks"`
	}
	if err := json.Unmarshal([]byte(sweetspotIn(t, s.dir, "preset", "get", "latest", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Benchmarks) != len(s.medians) {
		t.Errorf("preset get has %d points", len(got.Benchmarks))
	}
	for _, b := range got.Benchmarks {
		sameCells(t, "preset get", s.medians[b.PointID+"-"], b.Metrics)
	}
}

// sameCells holds the columns that both rows have against each other, which are many.
func sameCells(t *testing.T, where string, want, got row) {
	t.Helper()
	both := 0
	for name, cell := range got {
		wanted, there := want[name]
		if !there {
			continue
		}
		if both++; cell != wanted {
			t.Errorf("%s: %s of point %s is %q, and %q in the document", where, name, want["point_id"], cell, wanted)
		}
	}
	const least = 20
	if both < least {
		t.Errorf("%s: a row has %d columns of the document, at least %d are needed", where, both, least)
	}
}

// checkTable holds the rows of a table against the document's. Keys of the trials table say of a point that its repeat is 0.
func (s *sources) checkTable(t *testing.T, where, table string, rows []row) {
	t.Helper()
	want := map[string]map[string]row{"points": s.points, "trials": s.medians}[table]
	if len(rows) != len(want) {
		t.Errorf("%s: %d rows, want %d", where, len(rows), len(want))
	}
	for _, r := range rows {
		if table == "trials" {
			delete(r, "repeat")
		}
		sameCells(t, where, want[r.key()], r)
	}
}

// The tables on the disk, read by what wrote them.
func (s *sources) checkStored(t *testing.T) {
	run, err := results.Open(filepath.Join(s.dir, "results", s.id))
	if err != nil {
		t.Fatal(err)
	}
	points, broken := run.Points()
	trials, more := run.Trials()
	if broken = append(broken, more...); len(broken) > 0 {
		t.Fatal(broken)
	}
	s.checkTable(t, "points/", "points", rowsOf(t, points))
	s.checkTable(t, "trials/", "trials", rowsOf(t, trials))
}

func rowsOf[T any](t *testing.T, stored []T) (rows []row) {
	t.Helper()
	for _, one := range stored {
		text, err := measure.MarshalRow(one)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, decodedRow(t, text))
	}
	return rows
}

func decodedRow(t *testing.T, text []byte) (r row) {
	t.Helper()
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *sources) checkExports(t *testing.T) {
	for _, table := range []string{"points", "trials"} {
		s.checkTable(t, table+" as JSON lines", table, s.exportedJSONL(t, table))
		all, err := csv.NewReader(strings.NewReader(s.export(t, table, "csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var rows []row
		for _, cells := range all[1:] {
			r := row{}
			for i, cell := range cells {
				r[all[0][i]] = canonical(strings.Replace(cell, "inf", "Infinity", 1))
			}
			rows = append(rows, r)
		}
		s.checkTable(t, table+" as CSV", table, rows)
	}
}

func (s *sources) export(t *testing.T, table, format string) string {
	t.Helper()
	return sweetspotIn(t, s.dir, "export", s.id, "--table", table, "--format", format)
}

func (s *sources) exportedJSONL(t *testing.T, table string) (rows []row) {
	t.Helper()
	for line := range strings.Lines(s.export(t, table, "jsonl")) {
		rows = append(rows, decodedRow(t, []byte(line)))
	}
	return rows
}

// ttft are the times to first token of a point, of ok requests of all repeats, in order.
func (s *sources) ttft(t *testing.T, pointID string) (values []float64) {
	t.Helper()
	for _, r := range s.exportedJSONL(t, "requests") {
		if r["point_id"] == pointID && r["phase"] == "measured" && r["status"] == "ok" {
			values = append(values, number(t, r["ttft_s"]))
		}
	}
	slices.Sort(values)
	return values
}

// What the report draws: everything of a point that has the name of a column, its limits, its distribution.
func (s *sources) checkReport(t *testing.T) {
	page := sweetspotIn(t, s.dir, "report", s.id, "-o", "-")
	_, rest, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	text, _, found := strings.Cut(rest, "</script>")
	var data struct {
		Runs []struct {
			Trials []struct {
				Verdict string
				Points  []row
			}
		}
		Fronts []struct{ Points []row }
	}
	if err := json.Unmarshal([]byte(text), &data); err != nil || !found || len(data.Runs) != 1 {
		t.Fatal("the page has no data of one run", err)
	}
	for i, trial := range data.Runs[0].Trials {
		want := s.document[i]
		if trial.Verdict != want.Verdict {
			t.Errorf("verdict %s, want %s", trial.Verdict, want.Verdict)
		}
		for j, p := range trial.Points {
			delete(p, "repeats") // here their number
			sameCells(t, "report", want.Points[j].row, p)
			var drawn []float64
			if err := json.Unmarshal([]byte(p["ttft_ecdf_s"]), &drawn); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.ttft(t, p["point_id"]), drawn); diff != "" {
				t.Errorf("distribution of point %s: %s", p["point_id"], diff)
			}
		}
	}
	for _, front := range data.Fronts {
		for _, p := range front.Points {
			if want := s.medians[p["point_id"]+"-"]; p["pareto"] != want["pareto"] || p["user"] != want["output_tok_per_s_user"] {
				t.Errorf("on the front %v, in the document %s with %s", p, want["pareto"], want["output_tok_per_s_user"])
			}
		}
	}
}
