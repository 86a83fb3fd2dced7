package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sweetspot/runner/clock"
	"sweetspot/runner/simulator"
	"sweetspot/schema"
)

// replica is the simulated service behind a version of its own, which becomes another after so many completions; 0: never.
func replica(t *testing.T, before, after string, completions int64) string {
	t.Helper()
	simulated, err := simulator.New(schema.Simulator{Profile: "small-gpu"}, simulator.Options{Model: "tiny", Clock: clock.New()})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/version" && completions > 0 && asked.Load() >= completions:
			fmt.Fprintf(w, `{"version": %q}`, after)
		case r.URL.Path == "/version":
			fmt.Fprintf(w, `{"version": %q}`, before)
		default:
			if r.Method == http.MethodPost {
				asked.Add(1)
			}
			simulated.Handler().ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		server.Close()
		if err := simulated.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL + "/v1"
}

// Sessions go to the addresses of an endpoint in turn, and one that becomes another service in the middle of a point fails that point and those behind it.
func TestAReplicaThatChangesFailsItsPoints(t *testing.T) {
	first, second := replica(t, "1.0", "", 0), replica(t, "1.1", "1.2", 7)
	dir := t.TempDir()
	store, preset := filepath.Join(dir, "store"), filepath.Join(dir, "replicas.yaml")
	text := fmt.Sprintf("model: tiny\nservice: {endpoint: {url: %q, replicas: [%q]}}\nworkload: {random: {prompt_tokens: 20, output_tokens: 2}}\nload: {concurrency: [1, 2, 3], requests: 8, warmup_requests: 0}\n", first, second)
	if err := os.WriteFile(preset, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said, _ := command("run", "--json", preset, "--store", store)
	if want := second + ` is not what ` + first + ` is: version "1.1" against "1.0"`; strings.Count(said, want) != 1 {
		t.Errorf("want once %s in\n%s", want, said)
	}
	var document struct {
		Trials []struct {
			Points []struct {
				Repeats []struct {
					Status string  `json:"status"`
					Reason *string `json:"reason"`
					OK     int64   `json:"requests_ok"`
					Issued []int64 `json:"url_requests_issued"`
				} `json:"repeats"`
			} `json:"points"`
		} `json:"trials"`
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatalf("%v: %s%s", err, out, said)
	}
	changed := "the service at " + second + ` is not the one that the run began with: version was "1.1" and is "1.2"`
	for i, point := range document.Trials[0].Points {
		got := point.Repeats[0]
		switch {
		case i == 0 && (got.Status != "completed" || got.OK != 8 || len(got.Issued) != 2 || got.Issued[0] != 4 || got.Issued[1] != 4):
			t.Errorf("before the change: %+v", got)
		case i > 0 && (got.Status != "failed" || got.Reason == nil || *got.Reason != changed):
			t.Errorf("point %d: %+v, want failed: %s", i, got, changed)
		case i == 1 && len(got.Issued) != 2 || i == 2 && got.OK != 0:
			t.Errorf("point %d: the change came during the second and before the third: %+v", i, got)
		}
	}
}
