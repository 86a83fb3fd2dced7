package service

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sweetspot/schema"
)

func secrets(t interface {
	Fatal(...any)
	Helper()
}, values map[string]string, names ...string) Secrets {
	t.Helper()
	s, err := NewSecrets(names, nil, environment(values))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSecretsAreTakenOutOfTexts(t *testing.T) {
	s := secrets(t, map[string]string{"KEY": "tok:with/odd \"chars\"&%", "AUTH": "Bearer abc.def-ghi", "PART": "abc.def-ghi-jkl", "SHORT": "to"},
		"KEY", "AUTH", "PART", "SHORT")
	for text, want := range map[string]string{
		"nothing to see":                               "nothing to see",
		`as it is: tok:with/odd "chars"&%.`:            "as it is: REDACTED.",
		`JSON {"a":"tok:with/odd \"chars\"\u0026%"}`:   `JSON {"a":"REDACTED"}`,
		`Go "tok:with/odd \"chars\"&%"`:                `Go "REDACTED"`,
		"query ?k=tok%3Awith%2Fodd+%22chars%22%26%25":  "query ?k=REDACTED",
		"path /tok:with%2Fodd%20%22chars%22&%25":       "path /REDACTED",
		"path /tok:with/odd%20%22chars%22&%25":         "path /REDACTED",
		"small %3a tok%3awith%2fodd+%22chars%22%26%25": "small %3a REDACTED",
		`PHP {"a":"tok:with\/odd \"chars\"&%"}`:        `PHP {"a":"REDACTED"}`,
		`JSON "tok:with\/odd \"chars\"\u0026%"`:        `JSON "REDACTED"`,
		"<b>tok:with/odd &#34;chars&#34;&amp;%</b>":    "<b>REDACTED</b>",
		"<b>tok:with/odd &quot;chars&quot;&amp;%</b>":  "<b>REDACTED</b>",
		"header TOK:WITH/ODD \"CHARS\"&%":              "header REDACTED",
		"lower aBC.dEF-gHI-jKL":                        "lower REDACTED",
		"the token alone: abc.def-ghi":                 "the token alone: REDACTED",
		"one inside another: abc.def-ghi-jkl":          "one inside another: REDACTED",
		"http://user:pass@host/v1":                     "http://REDACTED@host/v1",
		"too short to hide":                            "too short to hide",
	} {
		if diff := cmp.Diff(want, s.Redact(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if got := (Secrets{}).Redact("plain"); got != "plain" {
		t.Errorf("without secrets %q", got)
	}
}

// A service may repeat a secret as Python or JSON quotes it, or as one quotes what the other has quoted.
func TestSecretsAreFoundHoweverOftenTheyAreQuoted(t *testing.T) {
	const key = `se"c\ret2 it's/é`
	s := secrets(t, map[string]string{"KEY": key, "AUTH": "Basic dXNlcjpodW50ZXIyMjI="}, "KEY", "AUTH")
	inJSON := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted[1 : len(quoted)-1])
	}
	for name, text := range map[string]string{
		"Python":                strings.ReplaceAll(key, `\`, `\\`),
		"Python, single quotes": strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(key),
		"Python bytes":          strings.NewReplacer(`\`, `\\`, "é", `\xc3\xa9`).Replace(key),
		"JSON":                  inJSON(key),
		"JSON twice":            inJSON(inJSON(key)),
		"JSON four times":       inJSON(inJSON(inJSON(inJSON(key)))),
		"JSON of Python":        inJSON(strings.ReplaceAll(key, `\`, `\\`)),
		"JSON in ASCII":         strings.ReplaceAll(inJSON(key), "é", `\u00e9`),
		"JSON of that":          inJSON(strings.ReplaceAll(inJSON(key), "é", `\u00e9`)),
		"Latin-1":               strings.ReplaceAll(key, "é", "\u00c3\u00a9"),
		"JSON of Latin-1":       strings.ReplaceAll(inJSON(key), "é", `\u00c3\u00a9`),
		"base64":                base64.RawStdEncoding.EncodeToString([]byte(key)),
		"base64 for URLs":       base64.RawURLEncoding.EncodeToString([]byte(key)),
		"basic credentials":     "user:hunter222",
		"their password":        "hunter222",
	} {
		if got := s.Redact("<" + text + ">"); got != "<REDACTED>" {
			t.Errorf("%s: %s becomes %s", name, text, got)
		}
	}
	for _, user := range []string{"", "a", "ab", "abc"} { // the user's name shifts what follows
		text := base64.StdEncoding.EncodeToString([]byte(user + ":" + key + "\n"))
		got := s.Redact(text)
		_, left, found := strings.Cut(got, "REDACTED")
		if !found || len(got) > len("REDACTED")+9 || len(left) > 4 {
			t.Errorf("base64 of %q and the key: %s becomes %s", user, text, got)
		}
	}
}

// What is found more loosely must not take what is no secret.
func TestRedactingLeavesBackslashesOfOthers(t *testing.T) {
	s := secrets(t, map[string]string{"KEY": `\\\\`, "PASSWORD": "abcd"}, "KEY", "PASSWORD")
	for _, text := range []string{`C:\dir \"quoted\" \\host`, base64.StdEncoding.EncodeToString([]byte("abcd"))} {
		if got := s.Redact(text); got != text {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	if long := strings.Repeat(`\`, 5000); s.Redact(long) != "REDACTED" {
		t.Errorf("%s is left", s.Redact(long))
	}
	long := strings.Repeat(`\`, 3000) + "x"
	if got := secrets(t, map[string]string{"KEY": long}, "KEY").Redact(long); got != "REDACTED" {
		t.Errorf("%d bytes are left", len(got))
	}
}

func TestNoSecretIsLeftInAText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[!-~é世]{4,20}`).Draw(t, "value")
		s := secrets(t, map[string]string{"KEY": value}, "KEY")
		quoted, err := json.Marshal(map[string]string{"error": "bad key " + value})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"say " + value + ".", string(quoted), fmt.Sprintf("%q", value), fmt.Sprintf("%q", string(quoted))} {
			got := s.Redact(text)
			if strings.Contains(strings.ReplaceAll(got, "REDACTED", ""), value) {
				t.Fatalf("%q is left in %q", value, got)
			}
			if got == text {
				t.Fatalf("%q did not change for %q", text, value)
			}
		}
	})
}

func TestVariablesThatAreNotSetAreNamedTogether(t *testing.T) {
	_, err := NewSecrets([]string{"A", "B", "C"}, nil, environment(map[string]string{"B": "b", "C": ""}))
	if err == nil || err.Error() != "environment variables that the preset names are not set: A, C" {
		t.Errorf("got %v", err)
	}
}

// net/http refuses such a header only when it is sent, and then each request fails.
func TestKeysThatNoHeaderCanCarryAreRefused(t *testing.T) {
	for _, value := range []string{"sk-SEKRET\n", "sk-\r\nSEKRET", "sk-\x00SEKRET", "sk-SEKRET\x7f", "sk-SEKRET\xff"} {
		_, err := NewSecrets([]string{"A", "KEY"}, nil, environment(map[string]string{"A": "good", "KEY": value}))
		want := "environment variables hold a line break, another control character or what is not UTF-8, which no header may: KEY"
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", value, err, want)
		}
		_, err = Start(t.Context(), schema.Service{Endpoint: &schema.Endpoint{URL: "http://127.0.0.1:1/v1", APIKeyEnv: "KEY"}}, Options{LookupEnv: environment(map[string]string{"KEY": value})})
		if err == nil || !strings.Contains(err.Error(), "KEY") || strings.Contains(err.Error(), "SEKRET") {
			t.Errorf("%q: Start gives %v, want an error that names KEY", value, err)
		}
	}
	if _, err := NewSecrets([]string{"A"}, nil, environment(map[string]string{"A": "tabs\tand é are fine"})); err != nil {
		t.Error(err)
	}
}

func TestASecretIsNeverPrinted(t *testing.T) {
	key := NewSecret("sk-12345")
	text, err := json.Marshal(struct{ Key Secret }{key})
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct{ k Secret }{key}
	printed := fmt.Sprintf("%v %+v %#v %s %q %x %v %+v %#v", key, key, key, key, key, key, hidden, hidden, hidden) + string(text)
	if strings.Contains(printed, "12345") || strings.Contains(printed, fmt.Sprintf("%x", "12345")) {
		t.Errorf("printed as %s", printed)
	}
	if key.Reveal() != "sk-12345" {
		t.Error("it does not reveal itself")
	}
}

func TestSecretsOfTheEnvironmentThatCommandsInherit(t *testing.T) {
	passed, err := NewSecrets([]string{"SENT"}, []string{"PEM"}, environment(map[string]string{"SENT": "sent-in-a-header", "PEM": "two\nlines-of-a-key"}))
	if err != nil {
		t.Fatal(err)
	}
	s := passed.Inheriting([]string{"MY_API_KEY=abcdefgh1", "HF_TOKEN=tokentoken", "TOKENIZERS_PARALLELISM=falsefalse", "SWITCH_KEY=on", "odd"})
	got := s.Redact("sent-in-a-header lines-of-a-key abcdefgh1 tokentoken falsefalse on odd")
	if want := "REDACTED REDACTED REDACTED REDACTED falsefalse on odd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := passed.Redact("abcdefgh1"); got != "abcdefgh1" {
		t.Errorf("the secrets before have become %q", got)
	}
}

func TestNamesOfSecrets(t *testing.T) {
	secret := []string{"MYSQL_PWD", "SSHPASS", "GH_PAT", "PAT", "BEARER", "AZURE_BEARER", "AWS_ACCESS_KEY_ID", "NETRC", "CI_JWT", "JWT", "COOKIE", "SITE_COOKIES",
		"SESSION", "LOGIN_SESSION", "AWS_SESSION_TOKEN", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "MY_API_KEY", "OPENAI_APIKEY", "PGPASSWORD", "DB_PASS", "REGISTRY_AUTH",
		"GOOGLE_CREDENTIALS", "KEY_PASSPHRASE", "MYSQL_PASSWD", "gh_pat", "CLIENT_SECRET_2"}
	for _, name := range secret {
		if !namesSecret(name) {
			t.Errorf("%s holds a secret", name)
		}
	}
	plain := []string{"PATH", "PWD", "OLDPWD", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "DESKTOP_SESSION", "GDMSESSION", "SESSION_MANAGER",
		"DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_ASKPASS", "GIT_ASKPASS", "LD_LIBRARY_PATH", "PYTHONPATH", "COMPAT", "SPAT", "FIREWALL_BYPASS", "PASSIVE", "KEYBOARD",
		"TOKENIZERS_PARALLELISM", "AUTHOR", "INIT_CWD", "HOME", "MONKEY"}
	for _, name := range plain {
		if namesSecret(name) {
			t.Errorf("%s holds no secret", name)
		}
	}
}
