package imports

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"sweetspot/pipeline"
	"sweetspot/pipeline/results"
	"sweetspot/schema"
	"sweetspot/selector"
)

// Import reads what the sources hold and stores it as one run of the store. Sources of the same model and work are one trial, to which each brings its points: a
// load that several of them have was repeated. The run has copies of all files that were read, without secrets. It gives the run, which is open for reading.
func Import(store string, paths []string, o Options) (*results.Run, error) {
	var all gathered
	for _, path := range paths {
		if err := all.add(path, o); err != nil {
			return nil, err
		}
	}
	trials, err := all.foreign()
	if err != nil {
		return nil, err
	}
	name := textOr(o.Name, all.format.Name())
	rule, err := all.rule(name)
	if err != nil {
		return nil, err
	}
	plan, err := pipeline.PlanForeign(name, rule, trials)
	if err != nil {
		return nil, fmt.Errorf("importing %s: %w", paths[0], err)
	}
	return all.store(store, name, plan, trials)
}

// gathered is what all sources hold.
type gathered struct {
	format Format
	source string // tool and version
	found  []*Found
	files  []*File
}

func (g *gathered) add(path string, o Options) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	format, err := pick(s, o.Format)
	if err != nil {
		return err
	}
	if g.format != nil && g.format != format {
		return fmt.Errorf("importing %s: it is %s, and the first file is %s: import each by itself", path, format.Name(), g.format.Name())
	}
	found, err := format.Read(s, o)
	if err != nil {
		return err
	}
	for _, file := range s.read {
		if err := file.distinct(); err != nil {
			return err
		}
	}
	for i := range found.Trials {
		if err := found.Trials[i].possible(); err != nil {
			return fmt.Errorf("importing %s: %w", path, err)
		}
	}
	source := found.Tool
	if found.Version != "" {
		source += " " + found.Version
	}
	if g.source != "" && g.source != source {
		return fmt.Errorf("importing %s: it is of %s, and the first file of %s: import each by itself", path, source, g.source)
	}
	g.format, g.source = format, source
	g.found, g.files = append(g.found, found), append(g.files, s.read...)
	return nil
}

// foreign joins the trials of all sources.
func (g *gathered) foreign() ([]pipeline.ForeignTrial, error) {
	var trials []pipeline.ForeignTrial
	for _, found := range g.found {
		for _, t := range found.Trials {
			i := slices.IndexFunc(trials, func(f pipeline.ForeignTrial) bool { return f.Model == t.Model && f.Workload == t.Workload })
			if i < 0 {
				i = len(trials)
				trials = append(trials, pipeline.ForeignTrial{Name: t.Name, Source: g.source, Model: t.Model, Workload: t.Workload})
				if i > 0 {
					trials[i].Name = fmt.Sprintf("%s-%d", t.Name, i+1)
				}
			}
			for _, p := range t.Points {
				trials[i].Points = join(trials[i].Points, g.foreignPoint(&t, p))
			}
		}
	}
	for _, t := range trials {
		slices.SortStableFunc(t.Points, func(a, b pipeline.ForeignPoint) int { return selector.CompareLoad(a.Load, b.Load) })
	}
	return trials, nil
}

// foreignPoint fills in what is the same for every point of a trial.
func (g *gathered) foreignPoint(t *Trial, p Point) pipeline.ForeignPoint {
	p.Row.Source, p.Row.Model, p.Row.Workload = &g.source, t.Model, workloadName(t.Workload)
	p.Row.Cache = "unknown"
	if p.Row.ErrorExample != nil {
		p.Row.ErrorExample = messageOf(*p.Row.ErrorExample)
	}
	return pipeline.ForeignPoint{Load: p.Load, Repeats: []pipeline.Foreign{{Point: p.Row, Records: p.Records}}}
}

// join adds a measurement to the points of a trial: as a repeat where its load is there.
func join(points []pipeline.ForeignPoint, p pipeline.ForeignPoint) []pipeline.ForeignPoint {
	for i := range points {
		if selector.CompareLoad(points[i].Load, p.Load) == 0 {
			points[i].Repeats = append(points[i].Repeats, p.Repeats...)
			return points
		}
	}
	return append(points, p)
}

// rule is that of a preset of the name without limits, with those that the files declare.
func (g *gathered) rule(name string) (results.Rule, error) {
	changes := []string{"name=" + strconv.Quote(name)}
	for _, found := range g.found {
		if found.MaxTTFT != nil {
			changes = append(changes, "limits.max_ttft="+found.MaxTTFT.String())
		}
		if found.MinContextLength != nil {
			changes = append(changes, fmt.Sprintf("limits.min_context_length=%d", *found.MinContextLength))
		}
	}
	preset, err := schema.Read("import.json", []byte(`{"model":"any","service":{"simulator":{}},"workload":{"fixed":{}}}`), schema.Options{Set: changes})
	if err != nil {
		return results.Rule{}, fmt.Errorf("importing: the run's name and limits: %w", err)
	}
	return results.Rule{Limits: preset.Limits, Select: preset.Select}, nil
}

func (g *gathered) store(store, name string, plan *pipeline.Plan, trials []pipeline.ForeignTrial) (*results.Run, error) {
	encoded, err := plan.Encoded()
	if err != nil {
		return nil, err
	}
	imported := &results.Imported{Format: g.format.Name(), Source: g.source, Notes: g.notes(), Files: []results.Kept{}}
	for _, found := range g.found {
		imported.State = cmp.Or(imported.State, found.State)
	}
	run, err := results.Create(store, results.Manifest{
		CreatedAt: time.Now().UTC(), Name: name, Status: results.Running, Given: results.Given{Filename: g.files[0].Name}, Environment: []string{},
		Rule: plan.Rule, Plan: encoded, Services: map[string]results.Facts{}, Executions: []results.Execution{}, Imported: imported,
	})
	if err != nil {
		return nil, err
	}
	err = g.keep(run, imported)
	if err == nil {
		err = pipeline.StoreForeign(run, plan, trials)
	}
	return run.Run, errors.Join(err, run.Close())
}

// notes are those of all sources, each once.
func (g *gathered) notes() []string {
	notes := []string{}
	for _, found := range g.found {
		for _, note := range found.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

var plainName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// keep stores the copies, each with its number before its name: files of several folders may be named alike.
func (g *gathered) keep(run *results.Writer, imported *results.Imported) error {
	for i, file := range g.files {
		name, err := run.Keep(fmt.Sprintf("%d-%s", i+1, plainName.ReplaceAllString(path.Base(file.Name), "_")), redacted(file.Text))
		if err != nil {
			return err
		}
		imported.Files = append(imported.Files, results.Kept{Name: name, SHA256: file.digest(), Size: file.size})
	}
	return nil
}
