package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
	"sweetspot/schema"
)

const hostile = `</script><b id="hostile">&"x`

const presetText = `name: "chat"
model: "</script><b id=\"hostile\">&\"x"
service: endpoint: url: "http://127.0.0.1:8000/v1"
workload: random: {prompt_tokens: 8, output_tokens: 17}
load: {concurrency: "1,2,4", requests: 40, warmup_requests: 0}
limits: max_ttft: "300ms"
trials: {one: {}, two: request: temperature: 0.5}
`

type nothing struct{}

func (nothing) Stop(context.Context) error { return nil }
func (nothing) Err() error                 { return nil }
func (nothing) Over() <-chan struct{}      { return nil }

// driven is what a service gives whose time to first token is 100 ms per request in flight and which takes 1.5 s for the 16 tokens after it, and 10 ms more
// for each request in flight. The trial two fails at concurrency 4.
func driven(_ context.Context, _ pipeline.Service, job pipeline.Job, _ <-chan struct{}, ended func(*measure.Record)) (measure.Outcome, error) {
	slots := job.Load.Slots()
	if job.TrialName == "two" && slots == 4 {
		return measure.Outcome{}, errors.New("the service " + hostile + " went away")
	}
	o := measure.Outcome{Started: 1e9, Target: slots, TargetSessions: slots, Health: measure.Health{LagP99: new(float64)}}
	for i := range *job.Requests {
		at := clock.Instant(1e9 + i/slots*2e9)
		first, last := 100e6*slots+i*1e6, 110e6*slots+15e8
		prompt, tokens, source := int64(8), int64(17), measure.FromServer
		r := measure.Record{Index: i, Session: i, Lane: i % slots, Phase: measure.Measured, Status: measure.OK, Scheduled: at, Dispatched: at,
			FirstToken: at + clock.Instant(first), LastToken: at + clock.Instant(last), Ended: at + 2e9,
			OutputTokens: &tokens, PromptTokens: &prompt, RequestedPromptTokens: &prompt, TokenSource: &source, Chunks: []int64{first, last}}
		o.Records = append(o.Records, r)
		o.Sessions = append(o.Sessions, measure.Span{Start: at, End: r.Ended})
		o.Finished = r.Ended
	}
	for i := range o.Records {
		ended(&o.Records[i])
	}
	for second := range clock.Instant(5) {
		running, waiting := float64(slots), 0.
		o.Samples = append(o.Samples, measure.Sample{At: (1 + second) * 1e9, Metric: "vllm:num_requests_running", Value: &running},
			measure.Sample{At: (1 + second) * 1e9, Metric: "vllm:num_requests_waiting", Value: &waiting})
	}
	return o, nil
}

// judged makes a run and judges it.
func judged(t testing.TB) Judged {
	t.Helper()
	preset, err := schema.Read("chat.cue", []byte(presetText), schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pipeline.NewPlan(preset)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := pipeline.NewManifest(preset, plan, results.Given{Filename: "chat.cue", Text: presetText}, schema.RedactText)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := results.Create(t.TempDir(), manifest)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	_, err = pipeline.Execute(t.Context(), plan, writer, pipeline.Deps{
		StartService: func(context.Context, schema.Service) (pipeline.Service, error) { return nothing{}, nil },
		Preflight: func(context.Context, pipeline.Service, pipeline.Job) (pipeline.Preflight, error) {
			return pipeline.Preflight{}, nil
		},
		Measure: driven, Clock: clock.New(), ToolVersion: "0.1.0",
	})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := results.Open(writer.Dir())
	if err != nil {
		t.Fatal(err)
	}
	document, broken, err := pipeline.Read(opened, nil)
	if err != nil || len(broken) > 0 {
		t.Fatal(err, broken)
	}
	return Judged{opened, document}
}

// written writes a report, and reads the data in it back.
func written(t testing.TB, runs ...Judged) (page string, d data, broken []error) {
	t.Helper()
	var out bytes.Buffer
	broken, err := Write(&out, runs)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(out.String(), `<script type="application/json" id="data">`)
	text, _, ended := strings.Cut(rest, "</script>")
	if !ok || !ended {
		t.Fatal("the page has no data")
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return out.String(), d, broken
}

func TestAReportHasTheFiguresOfTheDocument(t *testing.T) {
	run := judged(t)
	_, d, broken := written(t, run)
	if len(broken) > 0 || len(d.Runs) != 1 || len(d.Runs[0].Trials) != 2 {
		t.Fatalf("broken %v, data %+v", broken, d)
	}
	front := map[string]bool{}
	for _, p := range d.Fronts[0].Points {
		front[d.Runs[0].Trials[p.Side].ID+p.PointID] = p.OnFront
	}
	for i, trial := range run.Document.Trials {
		shown := d.Runs[0].Trials[i]
		if shown.Verdict != trial.Text() || shown.Axis != "concurrency" || shown.Spec.Model != hostile {
			t.Errorf("trial %+v, want %s", shown, trial.Text())
		}
		for j, p := range trial.Points {
			got := shown.Points[j]
			if got.Selected != p.Selected || got.Eligible != p.Eligible || !slices.Equal(got.Reasons, append([]string{}, p.Reasons...)) {
				t.Errorf("point %+v, want %+v", got, p)
			}
			if on, takesPart := front[trial.TrialID+p.PointID]; takesPart != (p.Pareto != nil) || takesPart && on != *p.Pareto {
				t.Errorf("%s %s: on the front %t %t, want %v", trial.TrialName, got.Label, takesPart, on, p.Pareto)
			}
			if !same(got.OutputTokPerS, p.Medians.OutputTokPerS) || !same(got.TTFTP50, p.Medians.TTFT.P50) || got.OK != p.Medians.OK {
				t.Errorf("%s: figures %+v, want %+v", p.PointID, got.figures, p.Medians)
			}
			if p.Status == "completed" && (len(got.Queues) != 5 || *got.Queues[4][0] != 4 || *got.Queues[4][1] != float64(*p.Load.Concurrency) || *got.Queues[4][2] != 0) {
				t.Errorf("queues %v", got.Queues)
			}
			if p.Status == "completed" && (len(got.ECDF) != 40 || len(got.Timeline.Rows) != 40) {
				t.Errorf("%d steps, %d rows, want 40 of each", len(got.ECDF), len(got.Timeline.Rows))
			}
		}
	}
}

func same(a, b *float64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// Text of a run can't leave the place that it is put in.
func TestARunsTextIsOnlyText(t *testing.T) {
	page, _, _ := written(t, judged(t))
	if strings.Contains(page, `<b id="hostile"`) || strings.Contains(page, `<b id=\"hostile`) {
		t.Error("the model's name stands in the page as markup")
	}
	if strings.Contains(strings.ReplaceAll(page, "http://www.w3.org/", ""), `src="http`) {
		t.Error("the page loads something")
	}
}

// Several runs are on one page with the requests of their selected points alone.
func TestSeveralRunsStandOnOnePage(t *testing.T) {
	run := judged(t)
	_, d, _ := written(t, run, run)
	if len(d.Runs) != 2 {
		t.Fatalf("%d runs", len(d.Runs))
	}
	for _, p := range d.Runs[1].Trials[0].Points {
		if p.Selected != (p.Timeline != nil) {
			t.Errorf("%s: selected %v, timeline %v", p.Label, p.Selected, p.Timeline)
		}
	}
}

// A figure that is no finite number, as a file from elsewhere may have it, keeps no page from being written.
func TestAFigureThatIsNoNumberIsNotDrawn(t *testing.T) {
	run := judged(t)
	point := &run.Document.Trials[0].Points[0].Medians
	infinite, none := math.Inf(1), math.NaN()
	point.TTFT.P50, point.OutputTokPerS, point.ServerWaitingMax = &infinite, &none, &infinite
	_, d, _ := written(t, judged(t), run)
	drawn := d.Runs[1].Trials[0].Points[0]
	if drawn.TTFTP50 != nil || drawn.OutputTokPerS != nil || drawn.ServerWaitingMax != nil || drawn.TPOTP50 == nil {
		t.Errorf("drawn: %+v", drawn.figures)
	}
}

// A file that is not whole is named on the page, and what else there is stands there.
func TestAReportSaysWhatItCouldNotRead(t *testing.T) {
	run := judged(t)
	files, err := filepath.Glob(filepath.Join(run.Run.Dir(), "requests", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	if err := os.WriteFile(files[0], []byte("PAR1"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, d, broken := written(t, run)
	if len(broken) != 1 || len(d.Runs[0].Unread) != 1 || !strings.Contains(d.Runs[0].Unread[0], filepath.Base(files[0])) {
		t.Errorf("broken %v, unread %v", broken, d.Runs[0].Unread)
	}
}

func TestPickedKeepsTheEnds(t *testing.T) {
	var values []float64
	for i := range 1001 {
		values = append(values, float64(i))
	}
	got := picked(values, 5)
	if !slices.Equal(got, []float64{0, 250, 500, 750, 1000}) {
		t.Errorf("picked %v", got)
	}
	if got := picked(values[:3], 5); !slices.Equal(got, values[:3]) {
		t.Errorf("picked %v of three", got)
	}
}

// A hundred runs, each read from files of its own and judged, as the command does: to stay under 5 s. On a machine that is busy with something else the CPU time
// says more than the time that has passed.
func BenchmarkReportOver100Runs(b *testing.B) {
	run := judged(b)
	store := b.TempDir()
	var dirs []string
	for i := range 100 {
		dir := filepath.Join(store, fmt.Sprintf("%08x", i))
		if err := os.CopyFS(dir, os.DirFS(run.Run.Dir())); err != nil {
			b.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	before := clock.Processor()
	for b.Loop() {
		var runs []Judged
		for _, dir := range dirs {
			opened, err := results.Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			document, broken, err := pipeline.Read(opened, nil)
			if err != nil || len(broken) > 0 {
				b.Fatal(err, broken)
			}
			runs = append(runs, Judged{Run: opened, Document: document})
		}
		if _, err := Write(&bytes.Buffer{}, runs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((clock.Processor()-before).Seconds()/float64(b.N), "cpu-s/op")
}
