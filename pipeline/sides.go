package pipeline

import (
	"fmt"
	"slices"

	"sweetspot/pipeline/results"
	"sweetspot/schema"
	"sweetspot/selector"
	"sweetspot/selector/compare"
)

// Sides are the trials of a run for a comparison, judged by rule or, where that is nil, by the run's own. Files that are not whole are named in broken;
// what they held counts as not measured.
func Sides(run *results.Run, rule *results.Rule) (sides []compare.Side, broken []error, err error) {
	document, broken, err := Read(run, rule)
	if err != nil {
		return nil, nil, err
	}
	manifest := run.Manifest()
	if rule == nil {
		rule = &manifest.Rule
	}
	for i := range document.Trials {
		verdict := &document.Trials[i]
		side := compare.Side{RunID: run.ID(), RunName: manifest.Name, Verdict: *verdict, Facts: map[string]string{}}
		trial := trialNamed(manifest.Normalised, verdict.TrialName)
		if trial == nil { // it was copied from another run, or comes from another tool: its rows say what it was
			if err := compare.Flatten(side.Facts, "imported", elsewhere(verdict)); err != nil {
				return nil, nil, fmt.Errorf("reading what run %s was: %w", run.ID(), err)
			}
			sides = append(sides, side)
			continue
		}
		side.Axes = trial.Axes
		if err := facts(side.Facts, &manifest, trial, verdict.TrialID, *rule); err != nil {
			return nil, nil, fmt.Errorf("reading what run %s was: %w", run.ID(), err)
		}
		sides = append(sides, side)
	}
	return sides, broken, nil
}

// trialNamed is nil where the manifest does not say, as that of a run from elsewhere may not.
func trialNamed(preset *schema.Preset, name string) *schema.Trial {
	if preset == nil {
		return nil
	}
	i := slices.IndexFunc(preset.Trials, func(t schema.Trial) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &preset.Trials[i]
}

// facts are what may differ between sides: the specification as it is stored, without secrets, the rule, what the service said of itself, and the client.
func facts(into map[string]string, manifest *results.Manifest, trial *schema.Trial, trialID string, rule results.Rule) error {
	parts := map[string]any{
		"": trial.Spec.Content(), "load": manifest.Normalised.Load, "limits": rule.Limits, "select": rule.Select,
		"reported": reported(manifest.Services[trialID]), "client": client(manifest),
	}
	for at, part := range parts {
		value, err := tree(part)
		if err != nil {
			return err
		}
		if err := compare.Flatten(into, at, value); err != nil {
			return err
		}
	}
	return nil
}

// identityFacts are those by which a service is told from another. What the preflight cost, or where the log lies, is of no service.
var identityFacts = []string{"model", "root", "version", "server", "max_model_len"}

func reported(facts results.Facts) results.Facts {
	kept := results.Facts{}
	for _, name := range identityFacts {
		if value, said := facts[name]; said {
			kept[name] = value
		}
	}
	return kept
}

// client is where the load came from. A run that was resumed may have several of each.
func client(manifest *results.Manifest) map[string][]string {
	all := map[string][]string{}
	for _, e := range manifest.Executions {
		for name, value := range map[string]string{
			"tool_version": e.ToolVersion, "hostname": e.Host.Name, "os": e.Host.OS, "arch": e.Host.Arch, "cpus": fmt.Sprint(e.Host.CPUs),
		} {
			if !slices.Contains(all[name], value) {
				all[name] = append(all[name], value)
			}
		}
	}
	return all
}

// elsewhere is what the rows of a trial from elsewhere say of it.
func elsewhere(verdict *selector.Verdict) map[string]any {
	said := map[string]any{"workload": verdict.Workload}
	for _, p := range verdict.Points {
		said["model"] = p.Medians.Model
		if p.Medians.Source != nil {
			said["measured_by"] = *p.Medians.Source
		}
	}
	return said
}
