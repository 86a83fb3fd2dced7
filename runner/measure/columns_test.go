package measure

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweetspot/runner/clock"
)

func names(row any) []string {
	var names []string
	for _, c := range Columns(reflect.TypeOf(row)) {
		names = append(names, c.Name)
	}
	return names
}

// The names that the measurement contract gives.
func TestColumnNames(t *testing.T) {
	keys := "run_id trial_id trial_name point_id repeat attempt stage"
	for _, test := range []struct {
		row  any
		want string
	}{
		{Point{}, keys + ` concurrency request_concurrency warmup_request_concurrency agentic_warmup_request_concurrency prefill_concurrency request_rate
			requests_issued requests_ok requests_http_error requests_connect_error requests_stream_error requests_truncated requests_empty requests_timeout
			requests_cancelled success_rate error_rate wall_s output_tok_per_s total_tok_per_s requests_per_s goodput_per_s steady_output_tok_per_s
			output_tok_per_s_user mean_sessions_in_flight peak_sessions_in_flight mean_requests_in_flight peak_requests_in_flight
			mean_prefills_in_flight peak_prefills_in_flight ttft_n ttft_mean_s ttft_std_s ttft_min_s ttft_max_s ttft_p50_s ttft_p90_s ttft_p95_s ttft_p99_s
			ttfot_p50_s ttft_scheduled_n ttft_scheduled_p50_s ttft_scheduled_p99_s total_time_mean_s total_time_p95_s tpot_mean_s tpot_p99_s queue_delay_p99_s icl_p99_s icl_mean_p99_s
			ttft_all_mean_s ttft_all_max_s ttft_all_p50_s ttft_all_p90_s ttft_all_p95_s ttft_all_p99_s tpot_all_p50_s total_time_all_p99_s
			context_length client_limited cache ignore_eos`},
		{RequestRow{}, keys + ` request_index session_id turn_index phase scheduled_ns dispatched_ns connected_ns wrote_ns first_byte_ns first_event_ns
			first_token_ns first_output_ns last_token_ns ended_ns conn_reused status token_source prompt_tokens output_tokens reasoning_tokens
			cached_prompt_tokens requested_prompt_tokens requested_output_tokens error
			ttft_s ttfot_s total_time_s tpot_s queue_delay_s`},
	} {
		got := names(test.row)
		for _, name := range strings.Fields(test.want) {
			if !slices.Contains(got, name) {
				t.Errorf("%T has no column %s", test.row, name)
			}
		}
	}
}

func TestColumnsAreDistinctAndDocumented(t *testing.T) {
	for _, row := range []any{Point{}, RequestRow{}} {
		seen := map[string]bool{}
		for _, c := range Columns(reflect.TypeOf(row)) {
			if seen[c.Name] {
				t.Errorf("%T: two columns %s", row, c.Name)
			}
			seen[c.Name] = true
			if c.Name == "" || c.Name != strings.ToLower(c.Name) || strings.ContainsAny(c.Name, " ,-") {
				t.Errorf("%T: column name %q", row, c.Name)
			}
			if len(c.Doc) < 5 {
				t.Errorf("%T: column %s has no doc", row, c.Name)
			}
			if c.Unit == "prefixed" {
				t.Errorf("%T: column %s has no unit of its own", row, c.Name)
			}
			if got, want := c.Unit == "s", strings.HasSuffix(c.Name, "_s") && !strings.HasSuffix(c.Name, "_per_s"); got != want {
				t.Errorf("%T: column %s in unit %q", row, c.Name, c.Unit)
			}
			if got, want := strings.Contains(c.Unit, "/s"), strings.Contains(c.Name, "_per_s") || strings.HasSuffix(c.Name, "_rate") && c.Unit != ""; got != want {
				t.Errorf("%T: column %s in unit %q", row, c.Name, c.Unit)
			}
			if got, want := c.Unit == "ns", strings.HasSuffix(c.Name, "_ns"); got != want {
				t.Errorf("%T: column %s in unit %q", row, c.Name, c.Unit)
			}
		}
	}
}

// The index of a column must lead to the field that its name says.
func TestColumnsLeadToFields(t *testing.T) {
	p := Point{Keys: Keys{PointID: "p"}, OutputTokPerSUser: ref(14.5), Counts: Counts{Timeout: 7}, TTFTAll: AllDist{P99: ref(1.25)}}
	value := reflect.ValueOf(p)
	want := map[string]any{"point_id": "p", "output_tok_per_s_user": ref(14.5), "requests_timeout": int64(7), "ttft_all_p99_s": ref(1.25)}
	for _, c := range Columns(value.Type()) {
		wanted, named := want[c.Name]
		if !named {
			continue
		}
		delete(want, c.Name)
		if diff := cmp.Diff(wanted, value.FieldByIndex(c.Index).Interface()); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
	if len(want) > 0 {
		t.Errorf("no columns for %v", want)
	}
}

func TestMarshalRow(t *testing.T) {
	row := struct {
		Keys
		Started clock.Instant `json:"started_ns"`
		Ended   clock.Instant `json:"ended_ns"`
		TTFT    AllDist       `prefix:"ttft_all" unit:"s" doc:"x"`
		Text    *string       `json:"text"`
		Chunks  []int64       `json:"chunks"`
	}{Started: 5, TTFT: AllDist{Mean: ref(math.Inf(1)), Max: ref(math.NaN()), P50: ref(0.25), P99: ref(math.Inf(-1)), P50Lower: ref(0.2)}, Chunks: []int64{1, 2}}
	row.TrialName = `a "b"`
	got, err := MarshalRow(&row, "run_id", "trial_id", "stage", "ttft_all_p90_s", "ttft_all_p95_s", "attempt")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"trial_name":"a \"b\"","point_id":"","repeat":0,"started_ns":5,"ended_ns":null,"ttft_all_mean_s":"Infinity","ttft_all_max_s":null,` +
		`"ttft_all_p50_s":0.25,"ttft_all_p99_s":"-Infinity","ttft_all_p50_lower_s":0.2,"ttft_all_p50_upper_s":null,"ttft_all_p90_lower_s":null,"ttft_all_p90_upper_s":null,` +
		`"ttft_all_p95_lower_s":null,"ttft_all_p95_upper_s":null,"ttft_all_p99_lower_s":null,"ttft_all_p99_upper_s":null,"text":null,"chunks":[1,2]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestMarshalRowIsJSON(t *testing.T) {
	p := Point{TTFTAll: AllDist{P50: ref(math.Inf(1))}}
	text, err := MarshalRow(p)
	if err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if got := len(names(p)); len(decoded) != got {
		t.Errorf("%d names in JSON, %d columns", len(decoded), got)
	}
	for name, want := range map[string]any{"ttft_all_p50_s": "Infinity", "ttft_p50_s": nil, "started_ns": nil, "requests_ok": 0.0, "client_limited": false} {
		if got := decoded[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
