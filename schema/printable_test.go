package schema

import "testing"

func TestWhatIsPrintedMovesNoCursor(t *testing.T) {
	for given, want := range map[string]string{
		"\x1b]0;title\x07\x1b[1;31mERROR\x1b[0m\tit is \u009b2J over\x00": "ERROR it is 2J over",
		"chat\u202egnp.exe\u2066": "chatgnp.exe",
		"a\nb\r\x1b[2Kc\u2028d":   "a bc d",
		"été 模型 🚀":                "été 模型 🚀",
		"\xff":                    "\uFFFD",
	} {
		if got := Printable(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
	if got, want := PrintableLines("  a:\x1b[2J\n    b \u202e\n"), "  a:\n    b\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if kept := "  a\n    b\n"; PrintableLines(kept) != kept {
		t.Errorf("%q", PrintableLines(kept))
	}
}
