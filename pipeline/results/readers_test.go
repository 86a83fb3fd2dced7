package results

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

// python is that of an environment with pyarrow, pandas, polars and DuckDB. The test is skipped where none is named.
func python(t *testing.T) string {
	t.Helper()
	environment := os.Getenv("SWEETSPOT_READERS")
	if environment == "" {
		t.Skip("SWEETSPOT_READERS is not set: `.ci/python readers` prints it")
	}
	return filepath.Join(environment, "bin", "python")
}

// outcome is a point as a runner could have seen it: n requests, some of which failed in each way.
func outcome(random *rand.Rand, n int64) measure.Outcome {
	o := measure.Outcome{Started: 1e9, Target: 4, TargetSessions: 4}
	text, status := "why", int64(503)
	for i := range n {
		at := clock.Instant(1e9 + i*1e7)
		r := measure.Record{Index: i, Session: i, Phase: measure.Measured, Scheduled: at, Dispatched: at, Status: measure.OK}
		if i%7 == 3 {
			r.Status = measure.Statuses()[1+random.IntN(7)]
			r.Error, r.HTTPStatus, r.Ended = &text, &status, at+1e6
			o.Records = append(o.Records, r)
			continue
		}
		offset := int64(0)
		for range 2 + random.IntN(5) {
			offset += 1 + random.Int64N(5e8)
			r.Chunks = append(r.Chunks, offset)
		}
		tokens, source := int64(len(r.Chunks)+random.IntN(3)), measure.FromServer
		r.OutputTokens, r.PromptTokens, r.TokenSource = &tokens, &tokens, &source
		r.FirstToken, r.LastToken = at.Add(time.Duration(r.Chunks[0])), at.Add(time.Duration(offset))
		r.Ended = r.LastToken + 1e3
		o.Records = append(o.Records, r)
		o.Sessions = append(o.Sessions, measure.Span{Start: at, End: r.Ended})
		o.Finished = max(o.Finished, r.Ended)
	}
	if n == 0 {
		o.Aborted = "the service did not start"
	}
	return o
}

// dataset is two runs as a sweep leaves them, and all rows of their tables.
func dataset(t *testing.T) (dirs []string, requests []measure.RequestRow, points []measure.Point, trials []TrialRow) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		w := newRun(t)
		dirs = append(dirs, w.Dir())
		var judged []TrialRow
		for _, p := range []struct {
			id     string
			repeat int64
			n      int64
		}{{pointA, 0, 300}, {pointA, 1, 120}, {pointB, 0, 0}, {pointB, 1, 5}} {
			o := outcome(random, p.n)
			concurrency := int64(4)
			row := measure.Summarize(o, schema.PointLoad{Concurrency: &concurrency}, schema.Limits{TTFTStat: "p50"})
			row.Keys = keys(w.Run, p.id, p.repeat, 0)
			if err := w.WritePoint(row, o.Records, nil); err != nil {
				t.Fatal(err)
			}
			points = append(points, row)
			for r := range requestRows(row.Keys, o.Records) {
				requests = append(requests, r)
			}
			judged = append(judged, TrialRow{row, Verdict{Reasons: []string{"a", "b"}[:p.repeat]}})
		}
		if err := w.WriteTrial(trialA, judged[1:]); err != nil {
			t.Fatal(err)
		}
		trials = append(trials, judged[1:]...)
	}
	return dirs, requests, points, trials
}

type seen struct {
	Types map[string]string
	Rows  []map[string]any
}

type report struct {
	Tables   map[string]map[string]seen
	Metadata map[string]struct {
		File        map[string]string
		Columns     map[string]map[string]string
		Nullable    map[string]bool
		Compression []string
	}
	Percentiles map[string]map[string]map[string]*json.Number // by reader and measurement
}

func TestNotebooksReadWhatWasWritten(t *testing.T) {
	interpreter := python(t)
	dirs, requests, points, trials := dataset(t)
	command := exec.Command(interpreter, append([]string{filepath.Join("testdata", "read.py")}, dirs...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("reading with Python: %v", err)
	}
	var got report
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	checkTable(t, got, Requests, requests)
	checkTable(t, got, Points, points)
	checkTable(t, got, Trials, trials)
	checkPercentiles(t, got, points)
}

func checkTable[T any](t *testing.T, got report, table Table, rows []T) {
	t.Helper()
	for reader, seen := range got.Tables[string(table)] {
		checkSeen(t, reader, table, rows, seen)
	}
	metadata := got.Metadata[string(table)]
	if metadata.File[versionKey] != "1" || len(metadata.File[runKey]) != 8 || metadata.File[tableKey] != string(table) {
		t.Errorf("%s: metadata of the file is %v", table, metadata.File)
	}
	compression := "ZSTD"
	if table == Points || table == Trials {
		compression = "UNCOMPRESSED"
	}
	if diff := cmp.Diff([]string{compression}, metadata.Compression); diff != "" {
		t.Errorf("%s: compression %s", table, diff)
	}
	for _, c := range measure.Columns(reflect.TypeFor[T]()) {
		of := metadata.Columns[c.Name]
		if of[docKey] != c.Doc || of[unitKey] != c.Unit {
			t.Errorf("%s: metadata of column %s is %v, want unit %q and description %q", table, c.Name, of, c.Unit, c.Doc)
		}
		if metadata.Nullable[c.Name] != nullable(c.Type) {
			t.Errorf("%s: column %s is nullable: %v", table, c.Name, metadata.Nullable[c.Name])
		}
	}
}

func checkSeen[T any](t *testing.T, reader string, table Table, rows []T, got seen) {
	t.Helper()
	checkTypes[T](t, reader, table, got.Types)
	checkRows(t, reader, table, rows, got.Rows)
}

// typeNames are the names that each reader has for a kind of column, the first of a slice being its elements.
var typeNames = map[string]map[reflect.Kind]string{
	"pyarrow": {reflect.String: "string", reflect.Int64: "int64", reflect.Float64: "double", reflect.Bool: "bool"},
	"pandas":  {reflect.String: "string[pyarrow]", reflect.Int64: "int64[pyarrow]", reflect.Float64: "double[pyarrow]", reflect.Bool: "bool[pyarrow]"},
	"polars":  {reflect.String: "String", reflect.Int64: "Int64", reflect.Float64: "Float64", reflect.Bool: "Boolean"},
	"spark":   {reflect.String: "string", reflect.Int64: "bigint", reflect.Float64: "double", reflect.Bool: "boolean"},
	"duckdb":  {reflect.String: "VARCHAR", reflect.Int64: "BIGINT", reflect.Float64: "DOUBLE", reflect.Bool: "BOOLEAN"},
}

var listNames = map[string]map[reflect.Kind]string{
	"pyarrow": {reflect.String: "list<element: string>", reflect.Int64: "list<element: int64>"},
	"pandas":  {reflect.String: "list<element: string>[pyarrow]", reflect.Int64: "list<element: int64>[pyarrow]"},
	"polars":  {reflect.String: "List(String)", reflect.Int64: "List(Int64)"},
	"spark":   {reflect.String: "array<string>", reflect.Int64: "array<bigint>"},
	"duckdb":  {reflect.String: "VARCHAR[]", reflect.Int64: "BIGINT[]"},
}

func checkTypes[T any](t *testing.T, reader string, table Table, got map[string]string) {
	t.Helper()
	want := map[string]string{}
	for _, c := range measure.Columns(reflect.TypeFor[T]()) {
		kind, names := c.Type, typeNames[reader]
		switch kind.Kind() {
		case reflect.Pointer:
			kind = kind.Elem()
		case reflect.Slice:
			kind, names = kind.Elem(), listNames[reader]
		}
		want[c.Name] = names[kind.Kind()]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, %s: types: %s", table, reader, diff)
	}
}

func checkRows[T any](t *testing.T, reader string, table Table, rows []T, got []map[string]any) {
	t.Helper()
	want := map[string]map[string]string{}
	for i := range rows {
		cells := map[string]string{}
		for _, c := range measure.Columns(reflect.TypeFor[T]()) {
			cells[c.Name] = written(reflect.ValueOf(rows[i]).FieldByIndex(c.Index))
		}
		want[place(cells)] = cells
	}
	if len(got) != len(rows) || len(want) != len(rows) {
		t.Errorf("%s, %s: %d rows of %d", table, reader, len(got), len(rows))
	}
	for _, row := range got {
		cells := map[string]string{}
		for name, cell := range row {
			cells[name] = pythons(cell)
		}
		if diff := cmp.Diff(want[place(cells)], cells, cmp.Comparer(sameCell)); diff != "" {
			t.Errorf("%s, %s: %s", table, reader, diff)
			return
		}
	}
}

func place(cells map[string]string) string {
	return cells["run_id"] + cells["point_id"] + cells["repeat"] + cells["attempt"] + cells["request_index"]
}

// written is a cell as text.
func written(cell reflect.Value) string {
	switch cell.Kind() {
	case reflect.Pointer:
		if cell.IsNil() {
			return "null"
		}
		return written(cell.Elem())
	case reflect.Slice:
		var elements []string
		for i := range cell.Len() {
			elements = append(elements, written(cell.Index(i)))
		}
		return "[" + strings.Join(elements, " ") + "]"
	case reflect.Float64:
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(cell.Float(), 'g', -1, 64), "+"))
	case reflect.Int64:
		if cell.Type() == instantType && cell.Int() == 0 {
			return "null"
		}
		return strconv.FormatInt(cell.Int(), 10)
	case reflect.Bool:
		return strconv.FormatBool(cell.Bool())
	}
	return cell.String()
}

// pythons is the same of what Python printed.
func pythons(cell any) string {
	switch cell := cell.(type) {
	case nil:
		return "null"
	case []any:
		var elements []string
		for _, element := range cell {
			elements = append(elements, pythons(element))
		}
		return "[" + strings.Join(elements, " ") + "]"
	case bool:
		return strconv.FormatBool(cell)
	case json.Number:
		return cell.String()
	}
	return cell.(string)
}

// sameCell takes two ways of writing one number for the same.
func sameCell(a, b string) bool {
	if a == b {
		return true
	}
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return errA == nil && errB == nil && x == y && strings.ContainsAny(a+b, ".e")
}

// checkPercentiles holds the figures that each reader works out of the requests against those of the points table: the same to a billionth, and none
// that the points table does not give because there are too few requests is missed.
func checkPercentiles(t *testing.T, got report, points []measure.Point) {
	t.Helper()
	for reader, of := range got.Percentiles {
		checked := 0
		for _, point := range points {
			recomputed := of[point.RunID+"-"+MeasurementOf(point.Keys).String()]
			value := reflect.ValueOf(point)
			for _, c := range measure.Columns(value.Type()) {
				stored, _ := value.FieldByIndex(c.Index).Interface().(*float64)
				number := recomputed[c.Name]
				if number == nil || stored == nil {
					continue
				}
				again, err := number.Float64()
				if err != nil {
					t.Fatal(err)
				}
				checked++
				if math.Abs(again-*stored) > 1e-9 {
					t.Errorf("%s: %s of %s: %v from the requests, %v in the points table", reader, c.Name, MeasurementOf(point.Keys), again, *stored)
				}
			}
		}
		if want := 2 * 2 * 5 * 8; checked < want { // two runs, two points with requests, five figures that every request has, eight statistics
			t.Errorf("%s: %d figures were compared, want at least %d", reader, checked, want)
		}
	}
	if len(got.Percentiles) != 3 {
		t.Errorf("%d readers, want 3", len(got.Percentiles))
	}
}
