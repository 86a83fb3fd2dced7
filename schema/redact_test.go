package schema

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRedact holds what is stored of a preset's text: no secret, and else every byte.
func TestRedact(t *testing.T) {
	for _, test := range []struct{ name, file, src, want string }{
		{"nothing to hide", "p.cue", plain, plain},
		{"a URL in CUE", "p.cue", `model: "m", service: endpoint: url: "https://user:hunter2@h:8443/v1" // mine`,
			`model: "m", service: endpoint: url: "https://REDACTED@h:8443/v1" // mine`},
		{"a URL in YAML", "p.yaml", "service:\n  endpoint:\n    url: http://tok3n@h/v1\n", "service:\n  endpoint:\n    url: http://REDACTED@h/v1\n"},
		{"a URL in JSON", "p.json", `{"service": {"endpoint": {"url": "http://a:b%40c@h/v1"}}}`, `{"service": {"endpoint": {"url": "http://REDACTED@h/v1"}}}`},
		{"two at signs", "p.yaml", "url: http://a:b@c@h/v1\n", "url: http://REDACTED@h/v1\n"},
		{"an address in a path", "p.yaml", "url: http://h/v1/a@b\n", "url: http://h/v1/a@b\n"},
		{"a comment", "p.yaml", "# Authorization: Bearer abcdefghijklmnop123\nmodel: m\n", "# Authorization: REDACTED REDACTED\nmodel: m\n"},
		{"a key in a comment", "p.cue", "// was sk-abcdefghijklmnopqrstuv\nmodel: \"m\"\n", "// was REDACTED\nmodel: \"m\"\n"},
		{"basic credentials", "p.cue", "// Basic dXNlcjpwYXNzd29yZA==\nmodel: \"m\"\n", "// Basic REDACTED\nmodel: \"m\"\n"},
		{"prose", "p.cue", "// Basic settings: the time to first token, max_tokens: 256, a bearer token in api_key_env.\nmodel: \"m\"\n",
			"// Basic settings: the time to first token, max_tokens: 256, a bearer token in api_key_env.\nmodel: \"m\"\n"},
		{"a file that cannot be read", "p.cue", "model: \"m\nservice: endpoint: url: \"http://u:p@h/v1\"", "model: \"m\nservice: endpoint: url: \"http://REDACTED@h/v1\""},
	} {
		if got := string(Redact(test.file, []byte(test.src))); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestRedactWhatIsPutTogether holds that a password which only evaluation shows is not stored in parts.
func TestRedactWhatIsPutTogether(t *testing.T) {
	for _, src := range []string{
		`_password: "hunter2", service: endpoint: url: "http://user:\(_password)@h/v1"`,
		`service: endpoint: url: "http://" + "user:" + "hunter2" + "@h/v1"`,
		`_user: "user:hunter2", service: endpoint: url: "http://\(_user)@h/v1"`,
		`service: endpoint: url: "http://user:hun\u0074er2\u0040h/v1"`,
		`service: endpoint: url: "http://user:hunter2@h/v1", request: extra_body: note: "it is hunter2"`,
	} {
		got := string(Redact("p.cue", []byte(src)))
		if strings.Contains(got, "hunter2") || !strings.Contains(got, "h/v1") {
			t.Errorf("%s is stored as %s", src, got)
		}
		if root, problems := readTree("p.cue", []byte(got)); root == nil {
			t.Errorf("%s: what is stored cannot be read: %v", src, problems)
		}
	}
}

// TestRedacted holds that a validated preset is stored without secrets, and the preset itself is not changed by it.
// TestSecretsAreNotShown holds that no message repeats what may be a key, wherever in a preset it was pasted.
func TestSecretsAreNotShown(t *testing.T) {
	const key = "sk-must-not-be-shown-0123456789"
	for _, src := range []string{
		`service: endpoint: {url: "http://h/v1", api_key_env: "` + key + `"}`,
		`service: endpoint: {url: "http://h/v1", api_key: "` + key + `"}`,
		`service: endpoint: url: "http://h/v1?key=` + key + `"`,
		`service: endpoint: url: "` + key + `"`,
		`service: endpoint: url: {key: "` + key + `"}`,
		`service: endpoint: {url: "http://h/v1", api_key_env: "` + key + `"}, service: endpoint: api_key_env: "other"`,
		`service: simulator: {}, request: headers: Authorization: "Bearer ` + key + `"`,
		`service: simulator: {}, request: headers: {"X-Api-Key": ["` + key + `"]}`,
		`service: simulator: {}, request: headers: "X-Any": env: "` + key + `"`,
		`service: simulator: {}, request: extra_body: api_key: "` + key + `"`,
		`service: simulator: {}, request: headers: "` + key + `"`,
		`service: simulator: {}, trials: a: service: endpoint: {url: "http://h/v1", api_key_env: "` + key + `"}`,
		`matrix: "service.endpoint.api_key_env": ["` + key + `"], service: endpoint: url: "http://h/v1"`,
	} {
		_, err := Read("p.cue", []byte(`model: "m", workload: fixed: {}, `+src), Options{})
		if err == nil {
			t.Errorf("%s is accepted", src)
		} else if strings.Contains(err.Error(), "must-not-be-shown") {
			t.Errorf("%s:\n%v", src, err)
		}
	}
}

// What is passed over before a pattern is tried never holds a match of it.
func TestRedactCommandsMissesNothing(t *testing.T) {
	pieces := []string{
		"http", "://", "u:p@h", "Bearer", "basic", "ba\u017fic", "dXNlcjpwYXNzd29yZA==", "API_KEY", "api-key", "to\u212aen", "_token", "password", "Secret", "cookie", "--token", ` --api-key`, `", "`, "KEY=",
		"sk-", "hf_", "AKIA", "0123456789abcdef", "x", "é", "\xff", "--", "-", "_", ".", "=", ":", "/", "@", "$", "?", " ", "\n", "\t", `"`, "'", `\`, ",", "{", "}", "[", "]", "<",
	}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "pieces"), "")
		want := s
		for _, p := range secretTexts {
			want = p.all(want)
		}
		want = keyPattern.ReplaceAllString(want, Redacted)
		for _, p := range secretArguments {
			want = p.all(want)
		}
		if got := RedactCommands(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	})
}
