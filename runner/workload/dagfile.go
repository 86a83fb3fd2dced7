package workload

import (
	"errors"
	"fmt"

	"sweetspot/runner/workload/input"
)

// DAG is a file of session trees in AIPerf's DAG JSONL form: one session a line, whose turns name the sessions that they fork or spawn.
//
// A fork inherits the conversation, a spawn starts afresh and may be started from several places. Sessions that no other names are roots.
//
// The file was read whole once and is read again as it is replayed: what is kept are the names of its sessions and which starts which.
type DAG struct {
	book  *input.Book[*dagSession]
	index dagIndex
	roots []int64 // entries, in the order of the file
}

// Roots is the number of session trees in the file.
func (d *DAG) Roots() int { return len(d.roots) }

// ReadDAG reads a file of session trees: name stands in errors, open opens it, from the start each time. All that is wrong with it comes in one error, a
// line each: `file:line: what`. Empty lines are passed over.
func ReadDAG(name string, open func() (input.File, error)) (*DAG, error) {
	d := &DAG{index: dagIndex{numbers: map[string]int32{}}}
	over := false
	book, err := input.Read(name, open, input.JSONL{}, func(e input.Entry) (*dagSession, error) {
		s := &dagSession{}
		if err := strictly(e.Text, s); err != nil {
			return nil, fmt.Errorf("parsing a session: %w", input.Explained(err))
		}
		if over {
			return s, nil
		}
		if err := s.check(); err != nil {
			return nil, err
		}
		return s, d.index.add(e.Line, s)
	})
	if err != nil {
		return nil, err
	}
	over = true
	d.book = book
	problems := d.link()
	if len(problems) == 0 && len(d.roots) == 0 {
		problems = append(problems, fmt.Errorf("%s:1: there is no session that no other names", name))
	}
	return d, errors.Join(problems...)
}

// session gives a session by its name.
func (d *DAG) session(id string) (*dagSession, error) {
	s, err := d.book.At(d.index.nodes[d.index.numbers[id]].entry)
	if err == nil && s.ID != id {
		err = fmt.Errorf("%s has changed since it was read", d.book.Name())
	}
	return s, err
}

// dagIndex is what is kept of the sessions of a file.
type dagIndex struct {
	numbers map[string]int32 // by name
	nodes   []dagNode        // by number
	order   []int32          // the numbers of the lines' sessions
	links   int
}

// dagNode is a session. Its line is 0 until one declares it.
type dagNode struct {
	name          string
	line, entry   int64
	turns         int     // of its own
	starts, forks []int32 // all sessions that it starts, and those of them that it forks
}

// What bounds the memory that an index takes.
const (
	mostDAGSessions = mostNamed
	mostDAGLinks    = 4_000_000
)

// add keeps the session of a line.
func (x *dagIndex) add(line int64, s *dagSession) error {
	own, err := x.number(s.ID)
	if err != nil {
		return err
	}
	if first := x.nodes[own].line; first > 0 {
		return fmt.Errorf("session %q stands in line %d already", s.ID, first)
	}
	starts, err := x.all(s.children())
	if err != nil {
		return err
	}
	var forks []int32
	for i := range s.Turns {
		forked, err := x.all(s.Turns[i].forked())
		if err != nil {
			return err
		}
		forks = append(forks, forked...)
	}
	if x.links += len(starts); x.links > mostDAGLinks {
		return fmt.Errorf("there are more than %d forks and spawns", mostDAGLinks)
	}
	x.nodes[own] = dagNode{s.ID, line, int64(len(x.order)), len(s.Turns), starts, forks}
	x.order = append(x.order, own)
	return nil
}

func (x *dagIndex) all(ids []string) ([]int32, error) {
	var numbers []int32
	for _, id := range ids {
		n, err := x.number(id)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// number is that of a name, a new one where it wasn't met before.
func (x *dagIndex) number(id string) (int32, error) {
	if n, met := x.numbers[id]; met {
		return n, nil
	}
	if len(x.nodes) == mostDAGSessions {
		return 0, fmt.Errorf("there are more than %d sessions", mostDAGSessions)
	}
	n := int32(len(x.nodes))
	x.numbers[id] = n
	x.nodes = append(x.nodes, dagNode{name: id})
	return n, nil
}
