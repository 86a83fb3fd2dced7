package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"sweetspot/pipeline/results"
	"sweetspot/schema"
)

// identity is what the ids of a trial and its points are hashes of: the version of the results' schema, the trial's name, and its model, service,
// workload and request, secrets redacted.
type identity map[string]any

func newIdentity(trial schema.Trial) (identity, error) {
	spec, err := tree(trial.Spec.Content())
	if err != nil {
		return nil, err
	}
	hashed, _ := redactTree(spec, schema.RedactText).(map[string]any)
	hashed["schema_version"] = results.SchemaVersion
	hashed["trial_name"] = trial.Name
	return hashed, nil
}

func (h identity) trial() (string, error) { return hash(h) }

// point adds the point's caps and what else of the load says what is measured; not repeats, and not what only shapes the ladder. A field that is
// not set is left out, so that a field added to the schema changes no id of a preset that does not use it.
func (h identity) point(load schema.Load, point schema.PointLoad) (string, error) {
	caps, err := tree(point)
	if err != nil {
		return "", err
	}
	rest, err := tree(struct {
		Requests        *int64           `json:"requests"`
		RequestsPerSlot int64            `json:"requests_per_slot"`
		MinRequests     int64            `json:"min_requests"`
		Duration        *schema.Duration `json:"duration"`
		MaxDuration     *schema.Duration `json:"max_duration"`
		WarmupRequests  *int64           `json:"warmup_requests"`
		DrainTimeout    schema.Duration  `json:"drain_timeout"`
		Seed            int64            `json:"seed"`
		schema.Course
	}{load.Requests, load.RequestsPerSlot, load.MinRequests, load.Duration, load.MaxDuration, load.WarmupRequests, load.DrainTimeout, load.Seed, load.Course})
	if err != nil {
		return "", err
	}
	set := map[string]any{}
	for _, fields := range []any{caps, rest} {
		for name, value := range fields.(map[string]any) {
			if value != nil {
				set[name] = value
			}
		}
	}
	for _, asked := range []string{"asked_request_concurrency", "asked_warmup_request_concurrency", "asked_agentic_warmup_request_concurrency", "asked_prefill_concurrency"} {
		delete(set, asked) // the point is what was measured
	}
	whole := identity{"load": set}
	for name, value := range h {
		whole[name] = value
	}
	return hash(whole)
}

// tree is v as JSON has it, numbers as they are written.
func tree(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var parsed any
	err = decoder.Decode(&parsed)
	return parsed, err
}

// hash is 16 hex digits of the SHA-256 of v's JSON, whose objects have their keys in order and no blanks.
func hash(v identity) (string, error) {
	text, err := json.Marshal(map[string]any(v))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}
