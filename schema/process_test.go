package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func started(t *testing.T, service string) *Process {
	t.Helper()
	preset, err := Read("p.cue", []byte(`model: "m", workload: random: {}, service: process: {`+service+`}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return preset.Trials[0].Spec.Service.Process
}

func TestArgsBecomeFlags(t *testing.T) {
	for service, want := range map[string][]string{
		`command: ["vllm", "serve", "m"]`: {"vllm", "serve", "m", "--port", "${PORT}"},
		`command: ["s"], args: {"max-num-seqs": 64, b: true, a: false, n: null, l: ["x", 0.90], "-ngl": 99, "--big": 9007199254740993}`: {
			"s", "--big", "9007199254740993", "-ngl", "99", "--b", "--l", "x", "--l", "0.90", "--max-num-seqs", "64", "--port", "${PORT}"},
		`command: ["srun", "s", "${ARGS}", "--", "p=${PORT}"], args: {a: "b c"}`:                    {"srun", "s", "--a", "b c", "--", "p=${PORT}"},
		`command: ["s"], args: listen: ":${PORT}"`:                                                  {"s", "--listen", ":${PORT}"},
		`command: ["s"], env: PORT: "${PORT}"`:                                                      {"s"},
		`start: ["docker", "run"], args: a: 1, url: "http://h/v1", stop: command: ["docker", "rm"]`: {"docker", "run", "--a", "1"},
	} {
		if diff := cmp.Diff(want, started(t, service).Line()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", service, diff)
		}
	}
}

func TestBaseOfAProcess(t *testing.T) {
	for service, want := range map[string]string{
		`command: ["s"]`:                                         "http://127.0.0.1:${PORT}/v1",
		`command: ["s"], url: "http://node:1/"`:                  "http://node:1/",
		`start: ["s"], url_pattern: "h.*", stop: command: ["t"]`: "${MATCH}",
		`start: ["s"], url_pattern: "h.*", url: "http://${MATCH}:8/v1", stop: command: ["t"]`: "http://${MATCH}:8/v1",
	} {
		if got := started(t, service).Base(); got != want {
			t.Errorf("%s has the base %s, want %s", service, got, want)
		}
	}
}

func TestVariablesAreShownAsAShellHasThem(t *testing.T) {
	p := started(t, `command: ["serve"], env: {B: "it's", A: {env: "HF_TOKEN"}, PORT: "${PORT}"}`)
	want := []string{`A="$HF_TOKEN"`, `B='it'\''s'`, "PORT=${PORT}"}
	if diff := cmp.Diff(want, p.EnvWords()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCommandsAreShownAsAShellHasThem(t *testing.T) {
	p := started(t, `start: ["sh", "-c", "it's $x"], args: {e: ""}, url: "http://h/v1", log: ["docker", "logs"], stop: command: ["docker", "rm"]`)
	want := []string{`sh -c 'it'\''s $x' --e ''`, "docker logs", "docker rm"}
	if diff := cmp.Diff(want, p.Commands()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
