package client

import (
	"fmt"
	"slices"
	"strings"

	"sweetspot/runner/measure"
)

// diagnose reads from the request that was made what stands in the way of measuring; userinfo says that the URL has a user and a password.
func diagnose(found AddressReport, config PreflightConfig, http2, userinfo bool) []Problem {
	r := found.Request
	switch r.Status {
	case measure.OK:
		return diagnoseAnswer(found, config, http2)
	case measure.ConnectError:
		return []Problem{{CheckReach, connectAdvice(*r.Error, http2), true}}
	case measure.HTTPError:
		return []Problem{diagnoseStatus(found, config, userinfo)}
	case measure.StreamError:
		if r.FirstEvent.Happened() {
			return []Problem{{CheckStream, *r.Error + ": the service streams, so its log may say more", true}}
		}
		return []Problem{{CheckStream, *r.Error + ": the service must answer stream: true with server-sent events", true}}
	case measure.Empty:
		return []Problem{{CheckRequest, fmt.Sprintf("%s, though %d were allowed: does the model answer the prompt at all?", *r.Error, preflightTokens), true}}
	case measure.Timeout:
		return []Problem{{CheckRequest, *r.Error + ": is the service ready, and is request.timeout long enough?", true}}
	}
	return []Problem{{CheckRequest, *r.Error + ": does something between here and the service cut responses?", true}}
}

// connectAdvice is text with what to do about it, where http2 says that nothing but HTTP/2 was spoken.
func connectAdvice(text string, http2 bool) string {
	switch {
	case strings.Contains(text, "x509:"):
		return text + ": give the service a certificate that this machine trusts, or set verify_tls: false"
	case strings.Contains(text, "server gave HTTP response to HTTPS client"), strings.Contains(text, "does not look like a TLS handshake"):
		return text + ": the URL must start with http://"
	case strings.Contains(text, "malformed HTTP response"):
		return text + ": if the service speaks TLS, the URL must start with https://"
	}
	if http2 {
		return text + ": the service may not speak HTTP/2 at this URL, which request.http asks for: most speak HTTP/1.1"
	}
	if strings.HasSuffix(text, "EOF") {
		return text + ": it hung up without a word: does another service listen there, or one that wants the URL to start with the other of http:// and https://?"
	}
	return text + ": is the service running, and are host and port right?"
}

func diagnoseStatus(found AddressReport, config PreflightConfig, userinfo bool) Problem {
	r := found.Request
	known := found.Models != nil
	unserved := known && !slices.Contains(found.Models, config.Model)
	switch status := *r.HTTPStatus; {
	case status == 401 || status == 403:
		return Problem{CheckAuth, *r.Error + ": " + keyAdvice(config.APIKeyEnv, userinfo), true}
	case status >= 300 && status < 400:
		return Problem{CheckPath, *r.Error + ": use the URL that it leads to", true}
	case status == 400 && strings.HasPrefix(found.URL, "http:") && strings.Contains(*r.Error, "HTTPS"): // as Go's servers and nginx say it
		return Problem{CheckReach, *r.Error + ": the URL must start with https://", true}
	case unserved && (status == 400 || status == 404 || status == 422):
		return Problem{CheckModel, fmt.Sprintf("%s: the service does not serve %s; it serves %s", *r.Error, config.Model, someOf(found.Models)), true}
	case status == 404 || status == 405:
		advice := "the service answers /models there, so look at request.api"
		if !known {
			advice = "it does not answer /models there either: the URL usually ends in /v1"
		}
		return Problem{CheckPath, *r.Error + ": " + advice, true}
	case status == 429:
		return Problem{CheckRequest, *r.Error + ": the service limits requests, so it can't be measured: lift its limit", true}
	case status >= 500:
		return Problem{CheckRequest, *r.Error + ": the service failed: its log says more", true}
	}
	if *r.HTTPStatus < 300 {
		return Problem{CheckRequest, *r.Error + ": the service must answer with status 200 and a stream: is this its completion path?", true}
	}
	return Problem{CheckRequest, *r.Error + ": look at the workload's lengths, request.max_tokens_field, ignore_eos and extra_body", true}
}

func keyAdvice(variable string, userinfo bool) string {
	switch {
	case variable == "" && userinfo:
		return "check the user and the password in the URL, or name the environment variable that holds a key in api_key_env"
	case variable == "":
		return "name the environment variable that holds a key in api_key_env"
	}
	return "check the key in the environment variable " + variable
}

// someOf lists names, the first ten of them.
func someOf(names []string) string {
	switch {
	case len(names) == 0:
		return "no model"
	case len(names) > 10:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:10], ", "), len(names)-10)
	}
	return strings.Join(names, ", ")
}

// diagnoseAnswer looks at a request that was answered well.
func diagnoseAnswer(found AddressReport, config PreflightConfig, http2 bool) []Problem {
	var problems []Problem
	r := found.Request
	if r.OutputTokens == nil {
		lack := "the stream ends without usage"
		if r.PromptTokens != nil {
			lack = "the stream's usage has no completion_tokens"
		}
		problems = append(problems, Problem{CheckUsage, lack + ", so output tokens can't be counted and no point can win: " +
			"have the service honour stream_options.include_usage, or name a request.tokenizer to count with", true})
	}
	if found.KeepsOpen {
		consequence := "its connections can't be used again, and each request opens a new one"
		if http2 {
			consequence = "each request keeps its slot for so long, and is then reset"
		}
		problems = append(problems, Problem{CheckStream, fmt.Sprintf("the service keeps its response open after [DONE], for more than %v: %s", linger, consequence), false})
	}
	if found.HangsUp {
		problems = append(problems, Problem{CheckStream, "the service closes its connection behind each response: each request opens a new one, which its times begin with", false})
	}
	if length := found.ContextLength; length != nil && config.ContextTokens > *length {
		problems = append(problems, Problem{CheckContext, fmt.Sprintf(
			"requests of %d tokens are asked for, prompt and output, and the service's context holds %d: "+
				"lower the workload's lengths, or raise the service's limit; where it has another than it reports, request.skip_checks: [\"context\"] leaves this check out", config.ContextTokens, *length), true})
	}
	if asked, got := r.RequestedPromptTokens, r.PromptTokens; asked != nil && got != nil && farFrom(*asked, *got) {
		problems = append(problems, Problem{CheckPrompt, fmt.Sprintf("a prompt of %d tokens was asked for, and the service counts %d: "+
			"results say both; the chat template and the tokenizer make the difference", *asked, *got), false})
	}
	return problems
}

// farFrom allows a tenth, and the thirty tokens or so of a chat template.
func farFrom(asked, got int64) bool {
	off := max(asked-got, got-asked)
	return off > 32 && off*10 > asked
}
