package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
	"sweetspot/selector"
)

// Judged is a run with the verdict on it.
type Judged struct {
	Run      *results.Run
	Document *pipeline.Document
}

//go:embed page/page.html
var pageSource string

//go:embed page/page.css
var style string

//go:embed page/page.js
var script string

//go:embed page/charts.js
var charts string

//go:embed page/echarts.min.js
var library string

//go:embed page/echarts.LICENSE
var licence string

var page = template.Must(template.New("page").Parse(pageSource))

// Write writes a page with one run or several, in their order. What of them can't be read is named in broken and left out of the page, which says so.
func Write(w io.Writer, runs []Judged) (broken []error, err error) {
	var d data
	var all []selector.Verdict
	for _, run := range runs {
		r, unread := describe(run, len(runs) == 1)
		broken = append(broken, unread...)
		d.Runs = append(d.Runs, r)
		all = append(all, run.Document.Trials...)
	}
	d.Fronts = selector.Fronts(all)
	text, err := json.Marshal(d) // writes < as an escape, so that no text of a run can end the script that it stands in
	if err != nil {
		return broken, fmt.Errorf("writing a report: %w", err)
	}
	title := "sweetspot: " + schema.Printable(runs[0].Run.Manifest().Name)
	if len(runs) > 1 {
		title = fmt.Sprintf("sweetspot: %d runs", len(runs))
	}
	err = page.Execute(w, struct {
		Title          string
		Style          template.CSS
		Data           template.JS
		Library        template.JS
		Charts, Script template.JS
		Licence        string
	}{title, template.CSS(style), template.JS(printable(text)), template.JS(library), template.JS(charts), template.JS(script), licence})
	if err != nil {
		return broken, fmt.Errorf("writing a report: %w", err)
	}
	return broken, nil
}
