package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

const typicalFrame = `{"id":"chatcmpl-7f0c5d1e8a3b4c0f9b1d2e3f4a5b6c7d","object":"chat.completion.chunk","created":1763500000,` +
	`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`

// said is what a frame and its usage say, in words.
func said(data string) string {
	var u usage
	d := newDecoder().(*decoder)
	if err := d.decode([]byte(data), &u); err != nil {
		return "undecodable"
	}
	var words []string
	note := func(name string, value []byte) {
		if value != nil {
			words = append(words, name+" "+string(value))
		}
	}
	note("error", d.frame.failure)
	note("reasoning", d.frame.reasoning)
	note("content", d.frame.content)
	note("tools", d.frame.toolCalls)
	note("finish", d.frame.finish)
	for _, c := range []struct {
		name string
		count
	}{{"prompt", u.prompt}, {"output", u.output}, {"thought", u.reasoning}, {"cached", u.cached}, {"so far", d.frame.output}} {
		if c.given {
			words = append(words, fmt.Sprintf("%s %d", c.name, c.n))
		}
	}
	return strings.Join(words, ", ")
}

func delta(members string) string { return `{"choices":[{"index":0,"delta":{` + members + `}}]}` }

func TestFrames(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{typicalFrame, `content " token"`},
		{delta(`"role":"assistant","content":""`), ""}, // vllm-project/vllm#3759
		{delta(`"role":"assistant"`), ""},
		{delta(`"content":null,"reasoning_content":null,"reasoning":null,"tool_calls":null`), ""},
		{delta(`"content":"","tool_calls":[]`), ""},
		{delta(`"tool_calls":[ ]`), ""},
		{delta(`"content":" "`), `content " "`},
		{delta(`"content":"\n"`), `content "\n"`},
		{delta(`"content":"","reasoning_content":"Hm"`), `reasoning "Hm"`}, // vllm-project/guidellm#737
		{delta(`"reasoning":"Hm"`), `reasoning "Hm"`},                      // ray-project/llmperf#89
		{delta(`"reasoning":"Hm","reasoning_content":""`), `reasoning "Hm"`},
		{delta(`"tool_calls":[{"index":0,"function":{"arguments":""}}]`), `tools [{"index":0,"function":{"arguments":""}}]`},
		{`{"choices":[{"text":" time","finish_reason":null}]}`, `content " time"`},
		{`{"choices":[{"text":"","finish_reason":"length"}]}`, `finish "length"`},
		{`{"choices":[{"delta":{},"finish_reason":""}]}`, ""}, // servers that send it so in every event
		{`{"choices":[{"delta":null,"finish_reason":"stop"}],"usage":null}`, `finish "stop"`},
		{`{"choices":[],"usage":{"prompt_tokens":24,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":16}}}`, "prompt 24, output 3, cached 16, so far 3"},
		{`{"choices":[],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":7}}}`, "output 9, thought 7, so far 9"},
		{`{"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":null,"reasoning_tokens":2}}`, "prompt 1, output 2, thought 2, so far 2"},
		{`{"usage":{"prompt_tokens":null,"completion_tokens":null}}`, ""},
		{`{"choices":null}`, ""},
		{`{}`, ""},
		{" {\"a\" : [1, {\"choices\": 2}]}\n", ""},
		{`{"error":{"message":"boom","code":500}}`, `error {"message":"boom","code":500}`},
		{`{"error":"boom","error_type":"generation"}`, `error "boom"`}, // huggingface/text-generation-inference PR #2668
		{`{"error":null,"choices":[]}`, ""},
		{`{"error":"","choices":[]}`, ""},
		{`{"object":"error","message":"boom"}`, `error {"object":"error","message":"boom"}`},
		{`{"object":"chat.completion.chunk"}`, ""},
		{`{"choices":[{"delta":{"error":"not at the top"}}]}`, ""},
		{`{"ch\u006fices":[{"delta":{"c\u006fntent":"x"}}]}`, `content "x"`},
	} {
		if got := said(c.data); got != c.want {
			t.Errorf("%s\nsays %q\nwant %q", c.data, got, c.want)
		}
	}
}

func TestFramesThatCannotBeDecoded(t *testing.T) {
	for _, data := range []string{
		``, ` `, `nul`, `{`, `{"choices":[`, `{"choices":[{"delta":{"content":"a`, `{"a":1}}`, `{"a":1} {"b":2}`, `{"a":01}`, `{'a':1}`, `{"a":1,}`,
		`null`, `[]`, `"text"`, `17`, `<html>`, `{"choices":{}}`, `{"choices":[1]}`, `{"choices":[{"delta":"x"}]}`, `{"usage":3}`, "{\"a\":\"\x01\"}",
		delta(`"content":7`), delta(`"content":["a"]`), delta(`"reasoning":{}`), delta(`"tool_calls":{}`), `{"choices":[{"finish_reason":1}]}`,
		`{"usage":{"completion_tokens":-1}}`, `{"usage":{"completion_tokens":1.5}}`, `{"usage":{"completion_tokens":"3"}}`, `{"usage":{"prompt_tokens":1e3}}`,
		`{"usage":{"completion_tokens":99999999999999999999}}`,
	} {
		if got := said(data); got != "undecodable" {
			t.Errorf("%q says %q, want it undecodable", data, got)
		}
	}
}

func TestAnUndecodableFrameLeavesTheDecoderUsable(t *testing.T) {
	d := newDecoder().(*decoder)
	for range 2 {
		if d.decode([]byte(`{"choices":[{"delta":{"content":`), &usage{}) == nil {
			t.Fatal("half a frame was decoded")
		}
		if err := d.decode([]byte(typicalFrame), &usage{}); err != nil || string(d.frame.content) != `" token"` {
			t.Fatalf("after half a frame: content %q, error %v", d.frame.content, err)
		}
	}
}

// FuzzFrame holds the decoder against encoding/json: what is no JSON object is undecodable, and the content of one choice is the same.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(typicalFrame))
	f.Add([]byte(delta(`"role":"assistant","content":"\u00e9\ud83d\ude00"`)))
	f.Add([]byte(`{"error":{"message":"x"}}`))
	f.Add([]byte(`{"choices":[],"usage":{"prompt_tokens":24,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":16}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, u := newDecoder().(*decoder), usage{}
		err := d.decode(data, &u)
		var object map[string]any
		if json.Unmarshal(data, &object) != nil || object == nil {
			if err == nil {
				t.Errorf("%q is no JSON object and was decoded", data)
			}
			return
		}
		if err != nil || !jsontext.Value(data).IsValid() || strings.Contains(string(data), "text") {
			return // stricter about what it reads; of two members with one name, or that mean the same, each takes another
		}
		if diff := cmp.Diff(plainContent(object), string(appendText(nil, d.frame.content))); diff != "" {
			t.Errorf("content of %q (-want +got):\n%s", data, diff)
		}
	})
}

// plainContent is the last content that is not empty, by another JSON library.
func plainContent(object map[string]any) string {
	content := ""
	choices, _ := object["choices"].([]any)
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		d, _ := choice["delta"].(map[string]any)
		if text, ok := d["content"].(string); ok && text != "" {
			content = text
		}
	}
	return content
}

func BenchmarkDecode(b *testing.B) {
	d, data := newDecoder().(*decoder), []byte(typicalFrame)
	var u usage
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.decode(data, &u); err != nil || d.frame.content == nil {
			b.Fatal(err)
		}
	}
}
