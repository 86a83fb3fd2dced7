package report

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromiumEnv names the browser of the tests in this file; they are left out where it is not set. SWEETSPOT_SCREENSHOTS is a folder for pictures.
const chromiumEnv = "SWEETSPOT_CHROMIUM"

// browser is a page in a real browser, and what it complained of or asked the network for.
type browser struct {
	context.Context
	t     *testing.T
	mu    sync.Mutex
	wrong []string
}

// open writes a report to a file and opens it.
func open(t *testing.T, runs ...Judged) *browser {
	t.Helper()
	path := os.Getenv(chromiumEnv)
	if path == "" {
		t.Skip(chromiumEnv + " is not set")
	}
	page, _, _ := written(t, runs...)
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1200, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	b := &browser{t: t}
	ctx, stop = chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil { // starts the browser, which lives as long as this context
		t.Fatal(err)
	}
	b.Context, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	if _, err := chromedp.Call(b, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	address := &url.URL{Scheme: "file", Path: file}
	b.do(chromedp.Navigate(address.String()), chromedp.WaitVisible("#specification"))
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, "console "+string(e.Type))
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, "log "+e.Entry.Text)
	case *network.EventRequestWillBeSent:
		address, err := url.Parse(e.Request.URL)
		if err != nil || !slices.Contains([]string{"file", "data", "blob"}, address.Scheme) {
			b.wrong = append(b.wrong, "asked for "+e.Request.URL)
		}
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// asked evaluates an expression, and waits where it is a promise.
func asked[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// fine reports what the page complained of.
func (b *browser) fine() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 {
		b.t.Errorf("the page: %s", strings.Join(b.wrong, "; "))
	}
}

func (b *browser) picture(name string) {
	b.t.Helper()
	folder := os.Getenv("SWEETSPOT_SCREENSHOTS")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(b, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func TestEachChartIsDrawnInABrowser(t *testing.T) {
	b := open(t, judged(t))
	if n := asked[int](b, `drawn[0].chart.getOption().series.at(-1).data.length`); n != 1 {
		t.Errorf("%d points without a figure are marked, want 1", n)
	}
	if charts, shapes := asked[int](b, `drawn.length`), asked[int](b, `[...document.querySelectorAll('.chart svg')].filter(s => s.querySelectorAll('path').length > 3).length`); charts != 8 || shapes != charts {
		t.Errorf("%d charts of which %d are drawn, want 8", charts, shapes)
	}
	if joined := asked[[][]float64](b, `drawn.find(d => d.title.textContent.startsWith('Throughput against')).chart.getOption().series.at(-1).data`); len(joined) != 5 || joined[0][0] <= joined[4][0] {
		t.Errorf("the front joins %v, want the five points that were measured, by falling pace", joined)
	}
	if lanes := asked[int](b, `drawn.at(-2).chart.getOption().series.reduce((n, s) => n + s.data.length, 0)`); lanes != 80 {
		t.Errorf("the timeline has %d parts, want prefill and decode of 40 requests", lanes)
	}
	b.picture("report")
	b.fine()
}

func TestHostileTextIsShownAsText(t *testing.T) {
	b := open(t, judged(t))
	if n := asked[int](b, `document.querySelectorAll('#hostile').length`); n != 0 {
		t.Error("the model's name became an element")
	}
	if text := asked[string](b, `document.querySelector('#specification').textContent`); !strings.Contains(text, `<b id=\"hostile\">`) {
		t.Error("the preset's text is not shown")
	}
	b.fine()
}

// The pointer over a point that failed a limit shows why, as text.
func TestPointingAtAPointSaysWhy(t *testing.T) {
	b := open(t, judged(t))
	at := asked[[]float64](b, `(() => {
		const d = drawn[1], box = d.chart.getDom().getBoundingClientRect(), last = d.chart.getOption().series[0].data.at(-1);
		d.chart.getDom().scrollIntoView({block: 'center'});
		const now = d.chart.getDom().getBoundingClientRect(), pixel = d.chart.convertToPixel({seriesIndex: 0}, last.value);
		return [now.x + pixel[0], now.y + pixel[1]];
	})()`)
	moved := input.DispatchMouseEventTypeMouseMoved
	b.do(chromedp.MouseEvent(moved, at[0]-40, at[1]), chromedp.MouseEvent(moved, at[0], at[1]))
	asked[bool](b, `new Promise(shown => { const look = () => drawn[1].chart.getDom().textContent.includes('is above the limit of 300ms') ? shown(true) : setTimeout(look, 20); look(); })`)
	if tip := asked[string](b, `drawn[1].chart.getDom().textContent`); !strings.Contains(tip, "one, concurrency 4") || !strings.Contains(tip, "output ") {
		t.Errorf("tip %q", tip)
	}
	if held := asked[string](b, `time({ttft_p50_s: 1, limits: [{figure: 'ttft_all_p50_s', value_s: 'Infinity'}]}, 'ttft_p50_s')`); held != "Infinity" {
		t.Errorf("the time of a point whose requests failed is %s", held)
	}
	b.fine()
}

func TestATableSortsByItsHeadings(t *testing.T) {
	b := open(t, judged(t))
	column := `[...document.querySelectorAll('#figures table')[0].querySelectorAll('tbody tr')].map(r => r.children[4].textContent)`
	press := `[...document.querySelectorAll('#figures th button')].find(x => x.textContent === 'tok/s').click()`
	asked[any](b, press+", 1")
	up := asked[[]string](b, column)
	asked[any](b, press+", 1")
	down := asked[[]string](b, column)
	if want := []string{"8.5", "8.5", "17", "17", "34", "-"}; !slices.Equal(up, want) {
		t.Errorf("ascending %v, want %v", up, want)
	}
	if down[0] != "-" || down[1] != "34" {
		t.Errorf("descending %v", down)
	}
	b.fine()
}

func TestAChartIsSavedAsSVG(t *testing.T) {
	b := open(t, judged(t))
	saved := asked[string](b, `(async () => {
		let blob;
		URL.createObjectURL = given => { blob = given; return 'data:,'; };
		document.querySelector('figcaption button').click();
		return await blob.text();
	})()`)
	if !strings.HasPrefix(saved, "<svg") || !strings.Contains(saved, "output tok/s") {
		t.Errorf("saved %.200q", saved)
	}
	b.fine()
}

func TestAReportFitsAPhoneAndTheDark(t *testing.T) {
	run := judged(t)
	b := open(t, run, run)
	ground := `getComputedStyle(document.body).backgroundColor`
	light := asked[string](b, ground)
	dark := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, dark); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	if wide := asked[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d pixels wide on a phone of 390", wide)
	}
	if now := asked[string](b, ground); now == light {
		t.Errorf("the ground is %s in the light and in the dark", now)
	}
	b.picture("phone-dark")
	b.fine()
}
