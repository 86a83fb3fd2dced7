package client

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// learned is what alike knows after a frame.
func learned(t testing.TB, data string) *alike {
	a, d := &alike{}, newDecoder().(*decoder)
	if d.decode([]byte(data), &usage{}) == nil && d.frame.token() {
		a.learn(d)
	}
	return a
}

func TestFramesThatAreAlike(t *testing.T) {
	one := delta(`"content":"one"`)
	for _, c := range []struct {
		earlier, data string
		want          bool
	}{
		{one, delta(`"content":"two words"`), true},
		{one, one, true},
		{delta(`"content":"\n"`), one, true},
		{delta(`"reasoning":"Hm"`), delta(`"reasoning":"so"`), true},
		{`{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`, true},
		{typicalFrame, strings.Replace(typicalFrame, " token", " other", 1), true},

		{one, delta(`"content":""`), false},
		{one, delta(`"content":"\n"`), false},
		{one, delta(`"content":"a","reasoning":"b"`), false},
		{one, delta(`"content":"a"b"`), false},
		{one, delta(`"content":null`), false},
		{one, delta(`"content":7`), false},
		{one, delta("\"content\":\"\x01\""), false},
		{one, delta(`"reasoning":"two"`), false},
		{one, one[:len(one)-1], false},
		{one, one + " ", false},
		{one, "", false},
		{one, `"`, false},
		{one, `[DONE]`, false},
		{delta(`"content":"a","reasoning":"b"`), delta(`"content":"c","reasoning":"b"`), false},
		{delta(`"tool_calls":[1]`), delta(`"tool_calls":[1]`), false},
		{`{"choices":[{"text":"a","finish_reason":"stop"}]}`, `{"choices":[{"text":"b","finish_reason":"stop"}]}`, false},
		{`{"choices":[{"text":"a"}],"usage":{"completion_tokens":1}}`, `{"choices":[{"text":"b"}],"usage":{"completion_tokens":1}}`, false},
		{`{}`, `{}`, false},
		{`{"choices":[{"text":"abcd","finish_reason":"stop"}]}`, `{"choices":[{"text":"abcd","finish_reason":"halt"}]}`, false},
		{delta(`"content":"a","tool_calls":[1]`), delta(`"content":"b","tool_calls":[1]`), false},
		{delta(`"content":"a","reasoning":"b"`), delta(`"content":"a","reasoning":"c"`), false},
		{one, strings.Replace(delta(`"content":"two"`), "}]}", "}],", 1), false},
	} {
		if _, ok := learned(t, c.earlier).read([]byte(c.data)); ok != c.want {
			t.Errorf("after %s\n%s\nread %v, want %v", c.earlier, c.data, ok, c.want)
		}
	}
}

// FuzzAlike holds that what is read by comparing is what the decoder reads, and that nothing is read that it would refuse.
func FuzzAlike(f *testing.F) {
	f.Add(delta(`"content":"one"`), delta(`"content":"two"`))
	f.Add(delta(`"content":"one","content":"x"`), delta(`"content":"one","content":"y"`))
	f.Add(delta(`"reasoning":"a","reasoning_content":"a"`), delta(`"reasoning":"a","reasoning_content":"b"`))
	f.Add(`{"choices":[{"text":"a","delta":{"content":"b"}}],"usage":null}`, `{"choices":[{"text":"a","delta":{"content":"c"}}],"usage":null}`)
	f.Fuzz(func(t *testing.T, earlier, data string) {
		a := learned(t, earlier)
		texts := []string{data}
		if a.to > 0 && len(a.data) > 0 { // also what is alike but for data as its text
			texts = append(texts, string(a.data[:a.from])+data+string(a.data[a.to:]), string(a.data[:a.from])+`"`+data+`"`+string(a.data[a.to:]))
		}
		for _, text := range texts {
			got, ok := a.read([]byte(text))
			if !ok {
				continue
			}
			d, u := newDecoder().(*decoder), usage{}
			if err := d.decode([]byte(text), &u); err != nil {
				t.Fatalf("after %q\n%q was read, and the decoder says %v", earlier, text, err)
			}
			want := d.frame
			want.stop = 0
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(frame{}, count{})); diff != "" || u != (usage{}) {
				t.Fatalf("after %q\n%q (-decoder +alike):\n%s", earlier, text, diff)
			}
		}
	})
}

func BenchmarkAlike(b *testing.B) {
	a, data := learned(b, typicalFrame), []byte(typicalFrame)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := a.read(data); !ok {
			b.Fatal("not alike")
		}
	}
}
