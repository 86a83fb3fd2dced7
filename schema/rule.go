package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ReadRule changes a rule, as [Read] does a whole preset: changes are assignments such as "limits.max_ttft=300ms" and "select.across=complete",
// and null takes a limit away. What they leave out stays. An error is [Problems], or says that the rule can't be written.
func ReadRule(limits Limits, choice Select, changes []string) (Limits, Select, error) {
	written, err := json.Marshal(limits)
	if err != nil {
		return limits, choice, fmt.Errorf("writing the limits: %w", err)
	}
	var kept map[string]any
	if err := json.Unmarshal(written, &kept); err != nil {
		return limits, choice, fmt.Errorf("writing the limits: %w", err)
	}
	dropIdleStatistics(kept, changes)
	text, err := json.Marshal(map[string]any{
		"model": "any", "service": map[string]any{"simulator": struct{}{}}, "workload": map[string]any{"fixed": struct{}{}}, "limits": kept, "select": choice, "verify": choice.Tolerance.Verify > 0,
	})
	if err != nil {
		return limits, choice, fmt.Errorf("writing the rule: %w", err)
	}
	preset, err := Read("rule.json", text, Options{Set: changes})
	if err != nil {
		return limits, choice, err
	}
	return preset.Limits, preset.Select, nil
}

// dropIdleStatistics removes the statistic of each limit that is not set once the changes are made: a statistic without its limit is a fault in
// a preset, and here nobody wrote it.
func dropIdleStatistics(limits map[string]any, changes []string) {
	for _, name := range []string{"ttft", "tpot", "total_time"} {
		_, set := limits["max_"+name]
		for _, change := range changes {
			if value, ok := strings.CutPrefix(change, "limits.max_"+name+"="); ok {
				set = value != "null"
			}
		}
		if !set {
			delete(limits, name+"_stat")
		}
	}
}
