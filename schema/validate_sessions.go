package schema

import (
	"encoding/json"
	"fmt"
)

// digested is what became of a file.
type digested struct {
	sum string
	err error
}

// sessions checks what the workload says between its fields, and completes it with the digests of its files.
func (v *validator) sessions(n *node, spec *Spec) Problems {
	if problems := v.counter(n, &spec.Request); len(problems) > 0 {
		return problems
	}
	if spec.Request.CacheSalt && spec.Workload.declaresPrefix() {
		return Problems{n.at(path{"request", "cache_salt"}).place.problem("would keep the cache from the shared prefix that the workload declares: leave out one of them")}
	}
	if a := spec.Workload.Agentic(); a.Start.To < a.Start.From {
		at := n.at(path{"workload", spec.Workload.Name(), "agentic"})
		return Problems{at.get("start").place.problem(fmt.Sprintf("must not end before it begins, from %g to %g", a.Start.From, a.Start.To))}
	}
	switch w := &spec.Workload; {
	case w.Random != nil:
		return w.Random.check(n.at(path{"workload", "random"}))
	case w.Sessions != nil:
		return w.Sessions.check(n.at(path{"workload", "sessions"}))
	case w.Tree != nil:
		at := n.at(path{"workload", "tree"})
		if problems := w.Tree.bounds(at); len(problems) > 0 {
			return problems
		}
		return w.Tree.size(at)
	}
	return v.file(n, spec)
}

// check finds what the lengths of random prompts say against one another, and leaves out of r what pairs stand for.
func (r *Random) check(n *node) Problems {
	problems := bounds(n, map[string]Distribution{"prompt_tokens": r.PromptTokens, "output_tokens": r.OutputTokens})
	if len(problems) > 0 {
		return problems
	}
	if r.Pairs != nil && len(r.Pairs) == 0 {
		return Problems{n.get("pairs").place.problem("must hold at least one pair, such as {prompt_tokens: 512, output_tokens: 64}")}
	}
	if r.Pairs != nil {
		r.PromptTokens, r.OutputTokens = Distribution{}, Distribution{}
	}
	if r.RangeRatio > 0 && (r.PromptTokens.Constant == nil || r.OutputTokens.Constant == nil) {
		return Problems{n.get("range_ratio").place.problem("goes with lengths that are numbers: these vary already")}
	}
	prompt, _ := r.Lengths()
	if least, _ := prompt.Bounds(); r.SharedPrefixTokens >= least {
		return Problems{n.get("shared_prefix_tokens").place.problem(fmt.Sprintf("must be below the length of the shortest prompt, which is %d", least))}
	}
	return nil
}

// check finds conversations whose counts are out of bounds, or that typically have more turns than one may have.
func (s *Sessions) check(n *node) Problems {
	problems := bounds(n, map[string]Distribution{
		"turns": s.Turns, "prompt_tokens": s.PromptTokens, "output_tokens": s.OutputTokens, "think_time": s.ThinkTime,
	})
	if _, most := s.Turns.Bounds(); len(problems) == 0 && most > mostTurns {
		return Problems{n.get("turns").place.problem(fmt.Sprintf("must be at most %d: a conversation has no more turns", mostTurns))}
	}
	return problems
}

// mostTurns is how many turns a session has at most, as in package workload.
const mostTurns = 10_000

// bounds finds distributions whose greatest value is below their least.
func (t *Tree) bounds(n *node) Problems {
	return bounds(n, map[string]Distribution{
		"turns": t.Turns, "prompt_tokens": t.PromptTokens, "output_tokens": t.OutputTokens, "think_time": t.ThinkTime, "fork_width": t.ForkWidth,
	})
}

func bounds(n *node, fields map[string]Distribution) Problems {
	var problems Problems
	hold := func(at *node, least, most int64) {
		if most < least {
			problems = append(problems, at.get("max").place.problem(fmt.Sprintf("must not be below min, which is %d", least)))
		}
	}
	for name, d := range fields {
		at := n.get(name)
		switch {
		case d.Uniform != nil:
			hold(at.get("uniform"), d.Uniform.Min, d.Uniform.Max)
		case d.Normal != nil && d.Normal.Max > 0:
			hold(at.get("normal"), d.Normal.Min, d.Normal.Max)
		case d.Lognormal != nil && d.Lognormal.Max > 0:
			hold(at.get("lognormal"), d.Lognormal.Min, d.Lognormal.Max)
		}
	}
	return problems
}

// size finds trees that typically have more turns than one may have.
func (t *Tree) size(n *node) Problems {
	turns := max(1, t.Turns.Mean())
	var all float64
	for level, width := int64(0), 1.0; level <= t.Depth; level++ {
		all += width * turns
		width *= turns * t.ForkWidth.Mean()
	}
	if all <= mostTurns {
		return nil
	}
	at := n.place
	if i := n.index("depth"); i >= 0 {
		at = n.fields[i].value.place
	}
	return Problems{at.problem(fmt.Sprintf("makes trees of about %.0f turns, all forks together: a tree has at most 10,000", all))}
}

// file looks at the file that a workload names, and completes the specification with its digest.
func (v *validator) file(n *node, spec *Spec) Problems {
	if spec.Workload.DAG != nil && spec.Request.API == "completions" {
		return Problems{n.at(path{"request", "api"}).place.problem("must be \"chat\" for session trees of a file, which are made of messages")}
	}
	file, sum := spec.Workload.named()
	if v.digest == nil || file == nil {
		return nil
	}
	found, err := v.digestOf(spec.Workload)
	if err != nil {
		return Problems{n.place.problem(err.Error())}
	}
	at := n.at(path{"workload", spec.Workload.Name()})
	switch {
	case found.err != nil:
		return Problems{at.get("file").place.problem("can't be used: " + found.err.Error())}
	case *sum != "" && *sum != found.sum:
		return Problems{at.get("sha256").place.problem("is not that of the file, which has " + found.sum)}
	}
	*sum = found.sum
	if api := v.extentOf(*spec).API; api != "" && api != spec.Request.API {
		return Problems{at.get("file").place.problem(fmt.Sprintf("holds requests for another API: request.api must be %q, not %q", api, spec.Request.API))}
	}
	return nil
}

// counter looks at the tokenizer.json that a request names, and completes the request with its digest.
func (v *validator) counter(n *node, r *Request) Problems {
	file, at := r.TokenizerFile(), n.at(path{"request"})
	if file == "" && r.TokenizerSHA256 != "" {
		return Problems{at.get("tokenizer_sha256").place.problem("is of a file: tokenizer names none")}
	}
	if file == "" || v.tokenizer == nil {
		return nil
	}
	sum, err := v.tokenizer(file)
	switch {
	case err != nil:
		return Problems{at.get("tokenizer").place.problem("can't be used: " + err.Error())}
	case r.TokenizerSHA256 != "" && r.TokenizerSHA256 != sum:
		return Problems{at.get("tokenizer_sha256").place.problem("is not that of the file, which has " + sum)}
	}
	r.TokenizerSHA256 = sum
	return nil
}

// extentOf is what the file of a workload holds; zero where it has none, or nobody looks at it.
func (v *validator) extentOf(spec Spec) Extent {
	if file, sum := spec.Workload.File(); v.extent == nil || file == "" || sum == "" {
		return Extent{}
	}
	return v.extent(spec.Workload)
}

// digestOf looks at the file of a workload, once for all trials that use it in one way.
func (v *validator) digestOf(w Workload) (digested, error) {
	w = w.WithoutDigest()
	text, err := json.Marshal(w)
	if err != nil {
		return digested{}, err
	}
	found, known := v.digests[string(text)]
	if !known {
		found.sum, found.err = v.digest(w)
		v.digests[string(text)] = found
	}
	return found, nil
}
