package schema

import "fmt"

// digested is what became of a file.
type digested struct {
	sum string
	err error
}

// sessions checks what the workload of session trees says, and completes it with the digest of its file.
func (v *validator) sessions(n *node, spec *Spec) Problems {
	switch w := &spec.Workload; {
	case w.Tree != nil:
		at := n.at(path{"workload", "tree"})
		if problems := w.Tree.bounds(at); len(problems) > 0 {
			return problems
		}
		return w.Tree.size(at)
	case w.DAG != nil:
		return v.file(n, spec)
	}
	return nil
}

// bounds finds distributions whose greatest value is below their least.
func (t *Tree) bounds(n *node) Problems {
	var problems Problems
	hold := func(at *node, least, most int64) {
		if most < least {
			problems = append(problems, at.get("max").place.problem(fmt.Sprintf("must not be below min, which is %d", least)))
		}
	}
	for name, d := range map[string]Distribution{
		"turns": t.Turns, "prompt_tokens": t.PromptTokens, "output_tokens": t.OutputTokens, "think_time": t.ThinkTime, "fork_width": t.ForkWidth,
	} {
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
	const most = 10_000 // of a tree, as in package workload
	turns := max(1, t.Turns.Mean())
	var all float64
	for level, width := int64(0), 1.0; level <= t.Depth; level++ {
		all += width * turns
		width *= turns * t.ForkWidth.Mean()
	}
	if all <= most {
		return nil
	}
	at := n.place
	if i := n.index("depth"); i >= 0 {
		at = n.fields[i].value.place
	}
	return Problems{at.problem(fmt.Sprintf("makes trees of about %.0f turns, all forks together: a tree has at most 10,000", all))}
}

// file looks at the file of session trees.
func (v *validator) file(n *node, spec *Spec) Problems {
	if spec.Request.API == "completions" {
		return Problems{n.at(path{"request", "api"}).place.problem("must be \"chat\" for session trees of a file, which are made of messages")}
	}
	dag := spec.Workload.DAG
	if v.digest == nil {
		return nil
	}
	found, known := v.digests[dag.File]
	if !known {
		found.sum, found.err = v.digest(dag.File)
		v.digests[dag.File] = found
	}
	at := n.at(path{"workload", "dag"})
	switch {
	case found.err != nil:
		return Problems{at.get("file").place.problem("can't be used: " + found.err.Error())}
	case dag.SHA256 != "" && dag.SHA256 != found.sum:
		return Problems{at.get("sha256").place.problem("is not that of the file, which has " + found.sum)}
	}
	dag.SHA256 = found.sum
	return nil
}
