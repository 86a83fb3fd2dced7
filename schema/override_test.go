package schema

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const plain = `
model: "tiny"
service: endpoint: {url: "http://127.0.0.1:8000/v1", api_key_env: "KEY"}
workload: random: prompt_tokens: 100
request: {headers: {"X-A": "a"}, extra_body: {top_p: 0.5}}
load: {concurrency: "1..4", requests: 50}
`

const twoTrials = plain + `
trials: {a: {}, b: {service: endpoint: url: "http://127.0.0.1:8001/v1", workload: random: prompt_tokens: 200}}
`

const timed = `
model: "tiny"
service: endpoint: url: "http://127.0.0.1:8000/v1"
workload: random: {}
load: {concurrency: "1..4", duration: "1m"}
`

func TestOverrides(t *testing.T) {
	for _, test := range []struct {
		name  string
		src   string
		opts  Options
		check func(*Preset) any
		want  any
	}{
		{"a number", plain, Options{Set: []string{"load.requests=99"}}, func(p *Preset) any { return *p.Load.Requests }, int64(99)},
		{"text", plain, Options{Set: []string{"model=org/other"}}, func(p *Preset) any { return p.Trials[0].Spec.Model }, "org/other"},
		{"text that reads as JSON is quoted", plain, Options{Set: []string{`model="123"`}}, func(p *Preset) any { return p.Trials[0].Spec.Model }, "123"},
		{"a number where text is wanted", plain, Options{Set: []string{"request.http=2"}}, func(p *Preset) any { return p.Trials[0].Spec.Request.HTTP }, "2"},
		{"all digits of it", plain, Options{Set: []string{"request.http=1.1", "model=1.10"}}, func(p *Preset) any { return p.Trials[0].Spec.Request.HTTP + " " + p.Trials[0].Spec.Model }, "1.1 1.10"},
		{"a truth where text is wanted", plain, Options{Set: []string{`request.headers.X-B=true`}}, func(p *Preset) any { return p.Trials[0].Spec.Request.Headers["X-B"].Value }, "true"},
		{"in a trial", twoTrials, Options{Set: []string{"trials.b.request.http=2"}}, func(p *Preset) any { return p.Trials[1].Spec.Request.HTTP }, "2"},
		{"a number where both are taken", plain, Options{Set: []string{"request.extra_body.k=2"}}, func(p *Preset) any { return fmt.Sprintf("%T", p.Trials[0].Spec.Request.ExtraBody["k"]) }, "json.Number"},
		{"a duration in the place of a count", plain, Options{Set: []string{"load.duration=30s"}}, func(p *Preset) any { return p.Load.Requests == nil && p.Load.Duration.String() == "30s" }, true},
		{"a count in the place of a duration", timed, Options{Set: []string{"load.requests=9"}}, func(p *Preset) any { return p.Load.Duration == nil && *p.Load.Requests == 9 }, true},
		{"a count a slot in the place of both", timed, Options{Set: []string{"load.requests_per_slot=9"}}, func(p *Preset) any { return p.Load.Duration == nil && p.Load.RequestsPerSlot == 9 }, true},
		{"the most time in the place of a duration", timed, Options{Set: []string{"load.max_duration=30s"}}, func(p *Preset) any { return p.Load.Duration == nil && p.Load.MaxDuration.String() == "30s" }, true},
		{"the most time beside a count", plain, Options{Set: []string{"load.max_duration=30s"}}, func(p *Preset) any { return *p.Load.Requests == 50 && p.Load.MaxDuration.String() == "30s" }, true},
		{"text with =", plain, Options{Set: []string{`model=a=b`}}, func(p *Preset) any { return p.Trials[0].Spec.Model }, "a=b"},
		{"a truth", plain, Options{Set: []string{"request.ignore_eos=true"}}, func(p *Preset) any { return p.Trials[0].Spec.Request.IgnoreEOS }, true},
		{"a section that is not there", plain, Options{Set: []string{"limits.max_ttft=250ms"}}, func(p *Preset) any { return p.Limits.MaxTTFT.String() }, "250ms"},
		{"a range", plain, Options{Set: []string{"load.concurrency=2..8"}}, func(p *Preset) any { return p.Load.Concurrency }, []int64{2, 4, 8}},
		{"a list", plain, Options{Set: []string{"load.concurrency=[8, 3]"}}, func(p *Preset) any { return p.Load.Concurrency }, []int64{3, 8}},
		{"a quoted name", plain, Options{Set: []string{`request.extra_body."a.b"=1`}}, func(p *Preset) any { return len(p.Trials[0].Spec.Request.ExtraBody) }, 2},
		{"a quoted name with =", plain, Options{Set: []string{`request.extra_body."a=b"=1`}}, func(p *Preset) any { _, ok := p.Trials[0].Spec.Request.ExtraBody["a=b"]; return ok }, true},
		{"null removes", plain, Options{Set: []string{"load.requests=null"}}, func(p *Preset) any { return p.Load.Requests == nil }, true},
		{"null of what is not there", plain, Options{Set: []string{"limits.max_ttft=null"}}, func(p *Preset) any { return p.Limits.MaxTTFT == nil }, true},
		{"another service replaces the first", plain, Options{Set: []string{"service.simulator.profile=cpu"}}, func(p *Preset) any {
			return p.Trials[0].Spec.Service.Endpoint == nil && p.Trials[0].Spec.Service.Simulator.Profile == "cpu"
		}, true},
		{"the same service is only changed", plain, Options{Set: []string{"service.endpoint.url=http://h/v1"}},
			func(p *Preset) any { return *p.Trials[0].Spec.Service.Endpoint }, Endpoint{URL: "http://h/v1", APIKeyEnv: "KEY", VerifyTLS: true}},
		{"a trial", twoTrials, Options{Set: []string{"trials.b.model=b"}}, func(p *Preset) any { return p.Trials[1].Spec.Model }, "b"},
		{"another service in a trial", twoTrials, Options{Set: []string{"trials.b.service.simulator.seed=3"}}, func(p *Preset) any {
			return p.Trials[1].Spec.Service.Endpoint == nil && p.Trials[1].Spec.Service.Simulator.Seed == 3
		}, true},
		{"what one trial has and another not", twoTrials, Options{Set: []string{"workload.random.prompt_tokens=300"}}, func(p *Preset) any {
			return []int64{*p.Trials[0].Spec.Workload.Random.PromptTokens.Constant, *p.Trials[1].Spec.Workload.Random.PromptTokens.Constant}
		}, []int64{300, 200}},
		{"a flag", plain, Options{Flags: map[string]string{"concurrency": "8,2"}}, func(p *Preset) any { return p.Load.Concurrency }, []int64{2, 8}},
		{"a flag in brackets", plain, Options{Flags: map[string]string{"prefill_concurrency": "[1]"}}, func(p *Preset) any { return p.Load.PrefillConcurrency }, []int64{1}},
	} {
		preset, err := Read("preset.cue", []byte(test.src), test.opts)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, test.check(preset)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestBadOverrides(t *testing.T) {
	for _, test := range []struct {
		name string
		src  string
		opts Options
		want string
	}{
		{"no value", plain, Options{Set: []string{"load.requests"}}, "--set: must be PATH=VALUE, such as load.requests=100"},
		{"no path", plain, Options{Set: []string{"=3"}}, "--set : a path is field names with dots between them, such as load.concurrency; " +
			`a name with a dot in it is quoted, as in request.headers."x.y"`},
		{"an index", plain, Options{Set: []string{"service.simulator.faults[0].kind=cut"}}, "--set service.simulator.faults[0].kind: service.simulator.faults is a list, which is set as a whole"},
		{"a wrong value", plain, Options{Set: []string{"load.repeats=0"}}, "--set load.repeats: must be a whole number from 1 to 1000, not 0"},
		{"neither a number nor text", plain, Options{Set: []string{"request.http=3", "request.temperature=true", "model=7"}},
			"--set request.http: must be the text \"1.1\" or \"2\", not 3\n--set request.temperature: must be a number from 0 to 2, not true"},
		{"a count and a duration", plain, Options{Set: []string{"load.duration=30s", "load.requests=9"}}, "--set load.requests: has no effect beside duration: keep one of them"},
		{"a wrong sweep", plain, Options{Set: []string{"load.concurrency=8..2"}},
			"--set load.concurrency: has the range 8..2, which ends below its start: the smaller number stands first, as in 2..8"},
		{"an unknown field", plain, Options{Set: []string{"load.request=3"}}, "--set load.request: is not a field of a preset; did you mean requests?"},
		{"an unknown section", plain, Options{Set: []string{"lode.requests=3"}}, "--set lode.requests: is not a field of a preset; did you mean load?"},
		{"twice", plain, Options{Set: []string{"load.requests=3", "load.requests=4"}}, "--set load.requests: is set by --set load.requests as well: keep one"},
		{"within another", plain, Options{Set: []string{"load.requests=30", "load={}"}}, "--set load: is set by --set load.requests as well: keep one"},
		{"by a flag as well", plain, Options{Set: []string{"load.concurrency=3"}, Flags: map[string]string{"concurrency": "4"}},
			"--set load.concurrency: is set by --concurrency as well: keep one"},
		{"a wrong flag", plain, Options{Flags: map[string]string{"request_concurrency": "0"}}, "--request-concurrency: load.request_concurrency: has 0: values are 1 or more"},
		{"a flag that breaks the chain", plain, Options{Flags: map[string]string{"request_concurrency": "2,4"}},
			"--request-concurrency: load.request_concurrency: exceeds concurrency (2 > 1, 4 > 1, 4 > 2): lower it, or set clip: true to have it lowered at these points"},
		{"no trial is left with it", twoTrials, Options{Set: []string{"trials.a.workload.random.prompt_tokens=1", "workload.random.prompt_tokens=300"}},
			"--set workload.random.prompt_tokens: has no effect: every trial sets it as well; set it in the trials, as in --set trials.NAME.workload.random.prompt_tokens"},
		{"a secret", plain, Options{Set: []string{"service.endpoint.api_key_env=sk-must-not-be-shown"}}, "--set service.endpoint.api_key_env: must be the name of an environment variable " +
			"in capitals, such as VLLM_API_KEY; the key itself never stands in a preset"},
		{"what it leaves incomplete", `model: "m", workload: fixed: {}`, Options{Set: []string{"service.endpoint.verify_tls=false"}},
			"--set service.endpoint.verify_tls: service.endpoint.url: is missing: it must be the base of an OpenAI-compatible API such as \"http://127.0.0.1:8000/v1\": " +
				"http or https, a port from 1 to 65535, no '?' or '#', and ending before /chat/completions"},
	} {
		_, err := Read("preset.cue", []byte(test.src), test.opts)
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
