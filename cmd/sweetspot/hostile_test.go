package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const hostilePreset = `name: chat
model: modelhere
service: {simulator: {profile: small-gpu, seed: 1}}
workload: {random: {}}
load: {concurrency: [4, 8]}
`

// storedRun stores a run with two points and gives its directory.
func storedRun(t *testing.T, store_, id, preset string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "chat.yaml")
	if err := os.WriteFile(file, []byte(preset), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store(id, store_, file, "concurrency output_tok_per_s ttft_p50_s\n4 300 0.3\n8 500 0.4\n"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(store_, id)
}

// sweetspot runs a command and gives all that a person sees of it.
func sweetspot(args ...string) (code int, out, said string) {
	var stdout, stderr bytes.Buffer
	code = run(args, &process{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, lookupEnv: os.LookupEnv, environ: os.Environ})
	return code, stdout.String(), stderr.String()
}

// What a manifest of somebody else's says reaches no terminal and no page raw.
func TestStoredTextMovesNoCursor(t *testing.T) {
	if testing.Short() {
		t.Skip("drives no load")
	}
	dir := t.TempDir()
	preset := hostilePreset + "trials:\n  first: {request: {temperature: 0}}\n  second: {request: {temperature: 1}}\n"
	file := filepath.Join(t.TempDir(), "chat.yaml")
	if err := os.WriteFile(file, []byte(preset), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store("0aaa1111", dir, file, "trial_name concurrency output_tok_per_s ttft_p50_s\nfirst 4 300 0.3\nfirst 8 500 0.4\nsecond 4 310 0.3\nsecond 8 520 0.4\n"); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "0aaa1111", "manifest.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	const bad = `\u001b[2J\u001b]0;t\u0007\u202e\u009b1m`
	hostile := strings.NewReplacer(`"name": "chat"`, `"name": "chat`+bad+`"`, `"modelhere"`, `"model`+bad+`"`, `"first"`, `"first`+bad+`"`, `"second"`, `"second`+bad+`"`).Replace(string(text))
	hostile = regexp.MustCompile(`,\n  "sha256": ".*"`).ReplaceAllString(hostile, "") // the checksum of what it was
	if strings.Count(hostile, bad) < 5 {
		t.Fatalf("the manifest has few places: %s", hostile)
	}
	if err := os.WriteFile(manifest, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"preset", "list", "-av"}, {"show", "0aaa"}, {"show", "0aaa", "--pareto"}, {"preset", "get", "0aaa"}, {"preset", "get", "0aaa", "--command"}, {"compare", "0aaa"}, {"compare", "0aaa", "--markdown"},
		{"compare", "0aaa:nothing", "0aaa"}, {"compare", "0aaa", "--fail-if", "ttft_p50_s > +5%"}, {"check", "0aaa"}, {"select", "0aaa", "--max-ttft", "350ms"}, {"show", "nothing"}, {"report", "0aaa", "-o", "-"},
	} {
		_, out, said := sweetspot(append(args, "--store", dir)...)
		for _, r := range []string{"\x1b", "\u202e", "\u009b", "\x07", `\u001b`, `\u202e`} {
			if strings.Contains(out+said, r) && (args[0] != "report" || !strings.HasPrefix(r, `\u202`)) {
				t.Errorf("%v: %q is in what is printed", args, r)
			}
		}
		if !strings.Contains(out+said, "chat") && !strings.Contains(out+said, "first") && !strings.Contains(out+said, "second") && args[len(args)-1] != "--command" {
			t.Errorf("%v: no name is printed: %s%s", args, out, said)
		}
	}
	if _, out, said := sweetspot("preset", "get", "0aaa", "--command", "--store", dir); !strings.Contains(out, `'model'$'\x1b''[2J'`) {
		t.Errorf("the command line does not keep the model's name: %s%s", out, said)
	}
}

// A run that is there and can't be read is no fault of the usage.
func TestADamagedManifestIsToldWithWhatToDo(t *testing.T) {
	if testing.Short() {
		t.Skip("drives no load")
	}
	const restore = "manifest.json back from a backup, or remove the run: sweetspot preset delete "
	for content, told := range map[string]struct{ fault, advice string }{
		"{":                      {"it is corrupt: ", restore},
		"null":                   {"it is no manifest of a run", restore},
		"{}":                     {"it is no manifest of a run", restore},
		`{"schema_version": 99}`: {"its results schema is version 99; this sweetspot reads version 1", ": read it with the sweetspot that wrote it\n"},
	} {
		dir := t.TempDir()
		path := storedRun(t, dir, "0aaa1111", hostilePreset)
		if err := os.WriteFile(filepath.Join(path, "manifest.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, run := range []string{"0aaa1111", "0aaa", path} {
			for _, args := range [][]string{{"show"}, {"select"}, {"export", "--format", "csv"}, {"report", "-o", "-"}, {"preset", "get"}} {
				code, out, said := sweetspot(append(args, run, "--store", dir)...)
				if code != exitFailed || out != "" || !strings.Contains(said, told.fault) || !strings.Contains(said, told.advice) || strings.Count(said, "\n") != 1 {
					t.Errorf("%v %s with %s: code %d, %s", args, run, content, code, said)
				}
			}
		}
		if code, _, said := sweetspot("show", "other", "--store", dir); code != exitUsage {
			t.Errorf("a name that no run has: code %d, %s", code, said)
		}
	}
	for _, none := range []string{filepath.Join(t.TempDir(), "nothing"), "./hostile_test.go"} {
		if code, _, said := sweetspot("show", none); code != exitUsage {
			t.Errorf("%s: code %d, %s", none, code, said)
		}
	}
}

// What the checksums name and is not there is told, and is not exported as if it had never been.
func TestFilesThatAreGoneAreTold(t *testing.T) {
	if testing.Short() {
		t.Skip("drives no load")
	}
	for name, remove := range map[string]func(dir string) error{
		"the folder": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "points")) },
		"a file": func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "points", "*.parquet"))
			if err != nil || len(files) != 2 {
				return err
			}
			return os.Remove(files[0])
		},
		"requests": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "requests")) },
	} {
		dir := t.TempDir()
		path := storedRun(t, dir, "0aaa1111", hostilePreset)
		if _, _, said := sweetspot("show", "0aaa", "--store", dir); said != "" {
			t.Errorf("before: %s", said)
		}
		sweetspot("preset", "list", "-a", "--store", dir) // which keeps what it says
		if err := remove(path); err != nil {
			t.Fatal(err)
		}
		const left = "sweetspot: left out: reading run "
		for _, args := range [][]string{{"show", "0aaa"}, {"preset", "list", "-a"}, {"preset", "get", "0aaa"}} {
			_, out, said := sweetspot(append(args, "--store", dir)...)
			if name == "requests" && args[1] == "list" {
				continue // a listing reads points alone
			}
			if strings.Count(said, left) != 1 || !strings.Contains(said, "SHA256SUMS names files that are not there: ") {
				t.Errorf("%s: %v: %s", name, args, said)
			}
			if args[0] == "show" && name != "requests" && !strings.Contains(out, "run 0aaa1111: completed when it ended, yet of ") {
				t.Errorf("%s: %s", name, out)
			}
		}
		table := "points"
		if name == "requests" {
			table = name
		}
		for _, format := range []string{"csv", "jsonl", "parquet", "arrow"} {
			code, out, said := sweetspot("export", "0aaa", "--table", table, "--format", format, "--store", dir)
			if code != exitFailed || out != "" || !strings.Contains(said, "names files that are not there") {
				t.Errorf("%s: export as %s: code %d, %q, %s", name, format, code, out, said)
			}
		}
	}
}
