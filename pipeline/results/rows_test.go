package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"sweetspot/runner/measure"
)

// anyRow draws a row of T in which any cell can be null, empty, infinite or extreme.
func anyRow[T any](t *rapid.T) T {
	var row T
	value := reflect.ValueOf(&row).Elem()
	for _, c := range measure.Columns(value.Type()) {
		fillCell(t, c.Name, value.FieldByIndex(c.Index))
	}
	return row
}

func fillCell(t *rapid.T, name string, cell reflect.Value) {
	switch cell.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, name+" is set") {
			cell.Set(reflect.New(cell.Type().Elem()))
			fillCell(t, name, cell.Elem())
		}
	case reflect.Slice:
		cell.Set(reflect.MakeSlice(cell.Type(), rapid.IntRange(0, 3).Draw(t, name+" length"), 3))
		for i := range cell.Len() {
			fillCell(t, name, cell.Index(i))
		}
	case reflect.String:
		cell.SetString(rapid.String().Draw(t, name))
	case reflect.Int64:
		cell.SetInt(rapid.Int64().Draw(t, name))
	case reflect.Float64:
		cell.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Just(math.Inf(1)), rapid.Just(math.Inf(-1)), rapid.Just(math.NaN())).Draw(t, name))
	case reflect.Bool:
		cell.SetBool(rapid.Bool().Draw(t, name))
	default:
		t.Fatalf("column %s has a type that this test does not draw: %s", name, cell.Type())
	}
}

func write[T any](t rapid.TB, dir string, rows iter.Seq[T]) string {
	t.Helper()
	l, err := layoutOf[T](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	return writeWith(t, dir, l, rows)
}

func writeWith[T any](t rapid.TB, dir string, l layout, rows iter.Seq[T]) string {
	t.Helper()
	out, err := os.CreateTemp(dir, "*.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := writeParquet(out, l, rows, shortGroups); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

func read[T any](path string) (rows []T, err error) {
	file, err := openContent(path)
	if err != nil {
		return nil, err
	}
	defer file.close()
	for row, err := range readParquet[T](file) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// sameRows takes what is not a number for null.
var sameRows = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *float64) bool {
	none := func(v *float64) bool { return v == nil || math.IsNaN(*v) }
	return none(a) && none(b) || !none(a) && !none(b) && *a == *b
})}

// Older versions stored what is not a number where a figure could not be told.
func TestWhatIsNotANumberIsReadAsNull(t *testing.T) {
	row := TrialRow{Point: measure.Point{OutputTokPerS: new(math.NaN()), Wall: new(2.0), TTFTAll: measure.AllDist{P50: new(math.Inf(1))}}}
	got, err := read[TrialRow](write(t, t.TempDir(), slices.Values([]TrialRow{row})))
	if err != nil || len(got) != 1 {
		t.Fatal(err, got)
	}
	if p := got[0]; p.OutputTokPerS != nil || *p.Wall != 2 || !math.IsInf(*p.TTFTAll.P50, 1) {
		t.Errorf("throughput %v, wall %v, ttft p50 %v", p.OutputTokPerS, p.Wall, p.TTFTAll.P50)
	}
}

func checkRoundTrip[T any](t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(anyRow[T]), 0, 2).Draw(t, "rows")
		got, err := read[T](write(t, dir, slices.Values(want)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sameRows); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRequestsComeBackAsTheyWereWritten(t *testing.T)        { checkRoundTrip[measure.RequestRow](t) }
func TestTrialsAndPointsComeBackAsTheyWereWritten(t *testing.T) { checkRoundTrip[TrialRow](t) }

func TestManyGroupsOfRowsComeBackInOrder(t *testing.T) {
	const n = 3*rowsPerGroup + 17
	requests := func(yield func(measure.RequestRow) bool) {
		for i := range int64(n) {
			if !yield(measure.RequestRow{Record: measure.Record{Index: i, Chunks: make([]int64, i%5)}}) {
				return
			}
		}
	}
	got, err := read[measure.RequestRow](write(t, t.TempDir(), requests))
	if err != nil || len(got) != n {
		t.Fatalf("%d rows and error %v, want %d rows", len(got), err, n)
	}
	for i, row := range got {
		if row.Index != int64(i) || len(row.Chunks) != i%5 {
			t.Fatalf("row %d has index %d and %d chunks", i, row.Index, len(row.Chunks))
		}
	}
}

func TestColumnsAreNullableWhereAFigureCanBeMissing(t *testing.T) {
	l, err := layoutOf[measure.RequestRow](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"run_id": false, "ttft_s": true, "first_token_ns": true, "conn_reused": false, "chunk_offsets_ns": false, "error": true} {
		field, ok := l.schema.FieldsByName(name)
		if !ok || field[0].Nullable != want {
			t.Errorf("column %s: there %v, nullable %v, want %v", name, ok, ok && field[0].Nullable, want)
		}
	}
}

// A reader of the file sees null, where one of the rows sees an instant of 0.
func TestAnInstantThatDidNotHappenIsNull(t *testing.T) {
	l, err := layoutOf[measure.RequestRow](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	batch := encode(l, []measure.RequestRow{{Record: measure.Record{Dispatched: 7}}})
	defer batch.Release()
	for name, want := range map[string]bool{"dispatched_ns": false, "first_token_ns": true, "request_index": false, "ttft_s": true} {
		if got := batch.Column(l.schema.FieldIndices(name)[0]).IsNull(0); got != want {
			t.Errorf("%s is null: %v", name, got)
		}
	}
}

// other is a table as another build of sweetspot could write it.
func other(t *testing.T, fields []arrow.Field, version string) string {
	t.Helper()
	l, err := layoutOf[TrialRow](Trials, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	metadata := arrow.MetadataFrom(map[string]string{versionKey: version})
	l.schema = arrow.NewSchema(fields, &metadata)
	l.columns = l.columns[:len(fields)]
	return writeWith(t, t.TempDir(), l, slices.Values([]TrialRow{{Point: measure.Point{Keys: measure.Keys{TrialName: "baseline"}}}}))
}

func trialFields(t *testing.T) []arrow.Field {
	t.Helper()
	l, err := layoutOf[TrialRow](Trials, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	return l.schema.Fields()
}

func TestUnknownColumnsArePassedOver(t *testing.T) {
	type wider struct {
		Before string `json:"before"`
		TrialRow
		After *float64 `json:"after"`
	}
	got, err := read[TrialRow](write(t, t.TempDir(), slices.Values([]wider{{Before: "x", TrialRow: TrialRow{measure.Point{Keys: measure.Keys{TrialName: "baseline"}}, Verdict{Selected: true}}}})))
	if err != nil || len(got) != 1 || got[0].TrialName != "baseline" || !got[0].Selected {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A file that an earlier sweetspot wrote has no column for what came later.
func TestAColumnThatCameLaterIsNull(t *testing.T) {
	type earlier struct {
		Name string `json:"name"`
	}
	type later struct {
		GPUs *int64 `json:"gpus"`
		Name string `json:"name"`
	}
	got, err := read[later](write(t, t.TempDir(), slices.Values([]earlier{{"a"}, {"b"}})))
	if err != nil || len(got) != 2 || got[0] != (later{Name: "a"}) || got[1] != (later{Name: "b"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFilesThatAreNotOursAreRefused(t *testing.T) {
	whole := trialFields(t)
	version := strconv.Itoa(SchemaVersion)
	text := filepath.Join(t.TempDir(), "text.parquet")
	if err := os.WriteFile(text, []byte("no Parquet at all"), fileMode); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"another version":  {other(t, whole, "2"), "its results schema is version 2; this sweetspot reads version 1"},
		"a column missing": {other(t, whole[:5], version), "it has 0 columns attempt, one is needed"},
		"no Parquet":       {text, "it is corrupt or cut short"},
		"no file":          {"nowhere.parquet", "open nowhere.parquet"},
	} {
		rows, err := read[TrialRow](c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) || len(rows) != 0 {
			t.Errorf("%s: %d rows, error %v, want %q", name, len(rows), err, c.want)
		}
	}
}

func TestAnotherTypeOfColumnIsRefused(t *testing.T) {
	type row struct {
		RunID string `json:"run_id"`
	}
	type number struct {
		RunID int64 `json:"run_id"`
	}
	type list struct {
		RunID []string `json:"run_id"`
	}
	for want, path := range map[string]string{
		"its column run_id is INT64, not BYTE_ARRAY":                write(t, t.TempDir(), slices.Values([]number{{7}})),
		"its column run_id is a list of BYTE_ARRAY, not BYTE_ARRAY": write(t, t.TempDir(), slices.Values([]list{{[]string{"a"}}})),
	} {
		if rows, err := read[row](path); err == nil || !strings.Contains(err.Error(), want) || len(rows) != 0 {
			t.Errorf("%d rows and error %v, want %q", len(rows), err, want)
		}
	}
}

// A group that can't be held is not read.
func TestAGroupOfTooManyRowsIsRefused(t *testing.T) {
	type row struct {
		Late bool `json:"late"`
	}
	l, err := layoutOf[row](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	batch := encode(l, make([]row, mostRows+1))
	defer batch.Release()
	if rows, err := read[row](writeBatch(t, l, batch)); err == nil || !strings.Contains(err.Error(), "65537 rows in a group, at most 65536 are read") || len(rows) != 0 {
		t.Errorf("%d rows and error %v", len(rows), err)
	}
}

// A large file for elsewhere has few groups, and the same rows.
func TestLongGroups(t *testing.T) {
	type row struct {
		RunID  string   `json:"run_id"`
		TTFT   *float64 `json:"ttft_s"`
		Chunks []int64  `json:"chunks"`
	}
	want := make([]row, mostRows+rowsPerGroup+7)
	for i := range want {
		want[i] = row{RunID: fmt.Sprint(i % 3), Chunks: make([]int64, i%4)}
		if i%5 > 0 {
			want[i].TTFT = new(float64(i))
		}
		for j := range want[i].Chunks {
			want[i].Chunks[j] = int64(i + j)
		}
	}
	l, err := layoutOf[row](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := writeParquet(&file, l, slices.Values(want), longGroups); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "long.parquet")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := read[row](path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, sameRows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	opened, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if groups := len(opened.RowGroups()); groups != 2 {
		t.Errorf("%d groups, want 2", groups)
	}
}

func TestNullsWhereThereMustBeNoneAreRefused(t *testing.T) {
	type loose struct {
		RunID *string `json:"run_id"`
	}
	type strict struct {
		RunID string `json:"run_id"`
	}
	_, err := read[strict](write(t, t.TempDir(), slices.Values([]loose{{nil}})))
	if err == nil || !strings.Contains(err.Error(), "its column run_id has 1 nulls and must have none") {
		t.Errorf("error %v", err)
	}
}

// An empty list is no null in it.
func TestANullInAListIsRefused(t *testing.T) {
	type row struct {
		Chunks []int64 `json:"chunks"`
	}
	l, err := layoutOf[row](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, l.schema)
	defer builder.Release()
	list := builder.Field(0).(*array.ListBuilder)
	list.Append(true)
	list.Append(true)
	list.ValueBuilder().(*array.Int64Builder).AppendValues([]int64{7, 8}, nil)
	batch := builder.NewRecord()
	defer batch.Release()
	got, err := read[row](writeBatch(t, l, batch))
	if diff := cmp.Diff([]row{{[]int64{}}, {[]int64{7, 8}}}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	list.Append(true)
	list.ValueBuilder().AppendNull()
	broken := builder.NewRecord()
	defer broken.Release()
	if _, err := read[row](writeBatch(t, l, broken)); err == nil || !strings.Contains(err.Error(), "its column chunks has 1 nulls and must have none") {
		t.Errorf("error %v", err)
	}
}

// writeBatch writes a file with one group, whatever is in it.
func writeBatch(t *testing.T, l layout, batch arrow.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "batch.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pqarrow.NewFileWriter(l.schema, file, nil, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Write(batch), out.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAColumnThatArrowHasNoTypeForIsAnError(t *testing.T) {
	type odd struct {
		Wall complex128 `json:"wall"`
	}
	if _, err := layoutOf[odd](Points, ""); err == nil || !strings.Contains(err.Error(), "laying out column wall of points") {
		t.Errorf("error %v", err)
	}
}

// full is a disk that has no room after some bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestAFullDiskIsAnErrorWhereverItFills(t *testing.T) {
	type row struct {
		Name   string   `json:"name"`
		Wall   *float64 `json:"wall_s"`
		Chunks []int64  `json:"chunks_ns"`
	}
	l, err := layoutOf[row](Trials, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	rows := slices.Values([]row{{Name: "baseline", Chunks: []int64{1, 2}}})
	var whole bytes.Buffer
	if err := writeParquet(&whole, l, rows, shortGroups); err != nil {
		t.Fatal(err)
	}
	for room := range whole.Len() {
		if err := writeParquet(&full{room}, l, rows, shortGroups); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("%d of %d bytes fit, and the error was %v", room, whole.Len(), err)
		}
	}
}
