package schema

import (
	"bytes"
	"encoding/json"
	"math"
)

// Tree asks in session trees that are drawn at random.
type Tree struct {
	Turns        Distribution `json:"turns"`         // of each session
	PromptTokens Distribution `json:"prompt_tokens"` // that a turn adds
	OutputTokens Distribution `json:"output_tokens"` // at most, of an answer
	ThinkTime    Distribution `json:"think_time"`    // in milliseconds
	Depth        int64        `json:"depth"`         // levels of forks; 0: none
	ForkWidth    Distribution `json:"fork_width"`    // forks of a turn
	InheritShare float64      `json:"inherit_share"` // of forks, 0 to 1
	JoinShare    float64      `json:"join_share"`    // of turns behind one that forked, 0 to 1
	Agentic      Agentic      `json:"agentic,omitzero"`
}

// DAG asks in session trees that a file holds.
type DAG struct {
	File    string  `json:"file"`             // from the folder of the preset
	SHA256  string  `json:"sha256,omitempty"` // of its content, in hexadecimal; empty where nobody has looked at it
	Agentic Agentic `json:"agentic,omitzero"`
}

// Prompts asks with the prompts of a file.
type Prompts struct {
	File         string `json:"file"`             // from the folder of the preset
	SHA256       string `json:"sha256,omitempty"` // of its content, in hexadecimal; empty where nobody has looked at it
	OutputTokens int64  `json:"output_tokens"`    // where the file says none
}

// ShareGPT asks with the conversations of a file.
type ShareGPT struct {
	File         string `json:"file"`                    // from the folder of the preset
	SHA256       string `json:"sha256,omitempty"`        // of its content, in hexadecimal; empty where nobody has looked at it
	Turns        string `json:"turns"`                   // "first" or "all"
	History      string `json:"history"`                 // "live" or "recorded": the answers that later turns carry
	OutputTokens int64  `json:"output_tokens,omitempty"` // 0: as long as the file's answers
}

// Sessions asks in conversations of several turns.
type Sessions struct {
	Turns              Distribution `json:"turns"`
	PromptTokens       Distribution `json:"prompt_tokens"`                  // that a turn adds
	OutputTokens       Distribution `json:"output_tokens"`                  // at most, of an answer
	ThinkTime          Distribution `json:"think_time"`                     // in milliseconds
	History            string       `json:"history"`                        // "live" or "recorded": the answers that later turns carry
	SharedPrefixTokens int64        `json:"shared_prefix_tokens,omitempty"` // in front of the first turn
}

// Agentic says that lanes start inside their sessions. Its zero value is that they do not.
type Agentic struct {
	Start      Portion  `json:"start"`        // of a session's turns
	MaxIdleGap Duration `json:"max_idle_gap"` // the longest time that a session waits before a turn
}

// Portion is from one share to another, each 0 to 1.
type Portion struct {
	From float64 `json:"from"`
	To   float64 `json:"to"` // above 0
}

// On reports whether lanes start inside their sessions.
func (a Agentic) On() bool { return a.Start.To > 0 }

// UnmarshalJSON reads what a preset has, true excepted: that has become the default of every field.
func (a *Agentic) UnmarshalJSON(src []byte) error {
	*a = Agentic{}
	if string(src) == "false" {
		return nil
	}
	type plain Agentic
	return decode(src, (*plain)(a))
}

// Trace asks as a trace of a service says. A nil field is not set.
type Trace struct {
	File           string `json:"file"`             // from the folder of the preset
	Format         string `json:"format"`           // "mooncake", "bailian", "burstgpt" or "batch"
	SHA256         string `json:"sha256,omitempty"` // of its content, in hexadecimal; empty where nobody has looked at it
	BlockSize      *int64 `json:"block_size,omitempty"`
	MaxContext     *int64 `json:"max_context,omitempty"`
	OverMaxContext string `json:"over_max_context"` // "refuse" or "cut"
}

// Weka asks as recorded agents did. A nil field is not set.
type Weka struct {
	File           string   `json:"file"`             // from the folder of the preset
	SHA256         string   `json:"sha256,omitempty"` // of its content, in hexadecimal; empty where nobody has looked at it
	Agentic        Agentic  `json:"agentic,omitzero"`
	MaxThinkTime   Duration `json:"max_think_time"`
	MaxContext     *int64   `json:"max_context,omitempty"`
	OverMaxContext string   `json:"over_max_context"` // "refuse" or "cut"
}

// Extent is what a file that a workload names holds.
type Extent struct {
	Requests int64  // of all sessions; 0 where nobody counted them
	Timed    bool   // each session says when it began, so that it can be replayed at a speed
	API      string // that the requests must be sent to, "chat" or "completions"; empty where either will do
}

// Distribution is a whole number, or how it varies; exactly one field is set. In JSON, as in a preset, the first is the number alone.
type Distribution struct {
	Constant  *int64     `json:"-"`
	Uniform   *Range     `json:"uniform,omitempty"`   // each from Min to Max as likely as the others
	Normal    *Spread    `json:"normal,omitempty"`    // the bell curve
	Lognormal *Spread    `json:"lognormal,omitempty"` // its logarithm is a bell curve
	Weighted  []Weighted `json:"weighted,omitempty"`
}

// Range is from Min to Max, both included.
type Range struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Spread is a mean and a standard deviation. What is drawn below Min is Min, what is above Max is Max; a Max of 0 is none.
type Spread struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
	Min  int64   `json:"min,omitempty"`
	Max  int64   `json:"max,omitempty"`
}

// Weighted is a value and how often it comes, against the weights of the others.
type Weighted struct {
	Value  int64 `json:"value"`
	Weight int64 `json:"weight"`
}

// MarshalJSON writes d as a preset does.
func (d Distribution) MarshalJSON() ([]byte, error) {
	if d.Constant != nil {
		return json.Marshal(*d.Constant)
	}
	type varied Distribution
	return json.Marshal(varied(d))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Distribution) UnmarshalJSON(src []byte) error {
	*d = Distribution{}
	if !bytes.HasPrefix(src, []byte{'{'}) {
		d.Constant = new(int64)
		return json.Unmarshal(src, d.Constant)
	}
	type varied Distribution
	return decode(src, (*varied)(d))
}

// Mean is the mean of d, before what is out of bounds is brought to them.
func (d Distribution) Mean() float64 {
	switch {
	case d.Constant != nil:
		return float64(*d.Constant)
	case d.Uniform != nil:
		return float64(d.Uniform.Min+d.Uniform.Max) / 2
	case d.Normal != nil:
		return d.Normal.Mean
	case d.Lognormal != nil:
		return d.Lognormal.Mean
	}
	var sum, weights float64
	for _, w := range d.Weighted {
		sum, weights = sum+float64(w.Value*w.Weight), weights+float64(w.Weight)
	}
	return sum / max(weights, 1)
}

// typical is the whole number nearest to the mean of d, at least 1.
func (d Distribution) typical() int64 { return max(1, int64(math.Round(d.Mean()))) }

// Name is the workload's key in a preset, such as "random": the label of its data in listings.
func (w Workload) Name() string {
	switch {
	case w.Fixed != nil:
		return "fixed"
	case w.Prompts != nil:
		return "prompts"
	case w.ShareGPT != nil:
		return "sharegpt"
	case w.Sessions != nil:
		return "sessions"
	case w.Tree != nil:
		return "tree"
	case w.DAG != nil:
		return "dag"
	case w.Trace != nil:
		return "trace"
	case w.Weka != nil:
		return "weka"
	}
	return "random"
}

// Single reports whether each session of the workload is one request.
func (w Workload) Single() bool { return w.Fixed != nil || w.Random != nil || w.Prompts != nil }

// named gives the fields for the file that w names and for its digest; nil where it names none.
func (w Workload) named() (file, sha256 *string) {
	switch {
	case w.Prompts != nil:
		return &w.Prompts.File, &w.Prompts.SHA256
	case w.ShareGPT != nil:
		return &w.ShareGPT.File, &w.ShareGPT.SHA256
	case w.DAG != nil:
		return &w.DAG.File, &w.DAG.SHA256
	case w.Trace != nil:
		return &w.Trace.File, &w.Trace.SHA256
	case w.Weka != nil:
		return &w.Weka.File, &w.Weka.SHA256
	}
	return nil, nil
}

// File is the path of the file that w names, from the folder of the preset, and the SHA-256 of its content, empty where nobody has looked at it.
// Both are empty where w names none.
func (w Workload) File() (file, sha256 string) {
	if file, sum := w.named(); file != nil {
		return *file, *sum
	}
	return "", ""
}

// Content is w without the path of its file where its digest is known: the same content is the same work, wherever it lies.
func (w Workload) Content() Workload {
	if _, sum := w.File(); sum == "" {
		return w
	}
	w = w.clone()
	file, _ := w.named()
	*file = ""
	return w
}

// WithoutDigest is w with nothing said of what its file holds.
func (w Workload) WithoutDigest() Workload {
	w = w.clone()
	if _, sum := w.named(); sum != nil {
		*sum = ""
	}
	return w
}

// clone is w with a group of its own for what names a file.
func (w Workload) clone() Workload {
	switch {
	case w.Prompts != nil:
		own := *w.Prompts
		w.Prompts = &own
	case w.ShareGPT != nil:
		own := *w.ShareGPT
		w.ShareGPT = &own
	case w.DAG != nil:
		own := *w.DAG
		w.DAG = &own
	case w.Trace != nil:
		own := *w.Trace
		w.Trace = &own
	case w.Weka != nil:
		own := *w.Weka
		w.Weka = &own
	}
	return w
}

// SharedPrefix is how many tokens at the beginning of each prompt a prefix cache may have from other prompts, as w declares it. It is nil where
// that isn't known: a later turn begins with all that was said before, and prompts of a file that are sent as they are may share what they like.
func (w Workload) SharedPrefix(cache string) *int64 {
	var declared int64
	switch isolated := cache != "shared"; {
	case w.Random != nil:
		declared = w.Random.SharedPrefixTokens
	case w.Fixed != nil && !isolated:
		declared = w.Fixed.PromptTokens
	case w.Fixed != nil, w.Prompts != nil && isolated, w.ShareGPT != nil && w.ShareGPT.Turns == "first" && isolated:
	default:
		return nil
	}
	return &declared
}

// declaresPrefix reports whether the prompts of w share a prefix that it declares.
func (w Workload) declaresPrefix() bool {
	return w.Random != nil && w.Random.SharedPrefixTokens > 0 || w.Sessions != nil && w.Sessions.SharedPrefixTokens > 0
}

// described is the workload's name, and its form where there are several.
func (w Workload) described() string {
	if w.Trace != nil {
		return w.Name() + " (" + w.Trace.Format + ")"
	}
	return w.Name()
}

// Forks reports whether w may have session trees that fork, which alone can have more requests in flight than trees. What a file holds is not
// looked at.
func (w Workload) Forks() bool {
	return w.DAG != nil || w.Weka != nil || w.Tree != nil && w.Tree.Depth > 0
}

// Agentic says how the lanes of w start inside their sessions.
func (w Workload) Agentic() Agentic {
	if a := w.agentic(); a != nil {
		return *a
	}
	return Agentic{}
}

// agentic is nil for a workload that has no session trees.
func (w Workload) agentic() *Agentic {
	switch {
	case w.Tree != nil:
		return &w.Tree.Agentic
	case w.DAG != nil:
		return &w.DAG.Agentic
	case w.Weka != nil:
		return &w.Weka.Agentic
	}
	return nil
}

// Tokens are the prompt and output lengths that w asks for: of a session tree those of a typical first turn, and 0 where they stand in a file.
func (w Workload) Tokens() (prompt, output int64) {
	switch {
	case w.Fixed != nil:
		return w.Fixed.PromptTokens, w.Fixed.OutputTokens
	case w.Random != nil:
		prompt, output := w.Random.Lengths()
		return prompt.typical(), output.typical()
	case w.Prompts != nil:
		return 0, w.Prompts.OutputTokens
	case w.ShareGPT != nil:
		return 0, w.ShareGPT.OutputTokens
	case w.Sessions != nil:
		return w.Sessions.SharedPrefixTokens + w.Sessions.PromptTokens.typical(), w.Sessions.OutputTokens.typical()
	case w.Tree != nil:
		return w.Tree.PromptTokens.typical(), w.Tree.OutputTokens.typical()
	}
	return 0, 0
}

// Longest is the length of the longest request of w in tokens, prompt and output together: of session trees that of a typical session's last turn,
// which forks that inherit go beyond, and 0 where it stands in a file. Lengths that vary without a bound are taken at their mean.
func (w Workload) Longest() int64 {
	prompt, output := w.Tokens()
	if w.Random != nil {
		return w.Random.longest()
	}
	if s := w.Sessions; s != nil {
		return s.SharedPrefixTokens + s.Turns.typical()*(s.PromptTokens.typical()+output)
	}
	if w.Tree != nil {
		return w.Tree.Turns.typical() * (prompt + output)
	}
	return prompt + output
}
