package schema

import "fmt"

// At is l with one load in the place of its search.
func (l Load) At(load int64) Load { return l.searching([]int64{load}) }

func (l Load) searching(loads []int64) Load {
	if l.Search.Over == "request_concurrency" {
		l.RequestConcurrency = loads
	} else {
		l.Concurrency = loads
	}
	l.Search = nil
	return l
}

// bounds are the points of the lowest and the highest load of a search. What holds for both holds for every load between them.
func (l Load) bounds() ([]PointLoad, error) {
	if conflicts := l.besideSearch(); len(conflicts) > 0 {
		return nil, conflicts
	}
	points, err := l.searching([]int64{l.Search.From, l.Search.To}).Points()
	if conflicts, ok := err.(Conflicts); ok {
		for i := range conflicts {
			if conflicts[i].Field == l.Search.Over {
				conflicts[i].Field = "search"
			}
		}
	}
	return points, err
}

// besideSearch finds what a search can't be beside.
func (l Load) besideSearch() (conflicts Conflicts) {
	s := l.Search
	if s.To <= s.From {
		return Conflicts{{"search.to", fmt.Sprintf("must be above from, %d", s.From)}}
	}
	values, names := l.sweeps()
	for i, name := range names {
		swept := len(values[i]) > 1 || values[i][0] != 0
		switch {
		case name == s.Over && swept:
			conflicts = append(conflicts, Conflict{"search", "has no effect beside " + name + ", which it searches: keep one of them"})
		case len(values[i]) > 1:
			conflicts = append(conflicts, Conflict{name, fmt.Sprintf("has %d values beside search, which looks for one number: give it one, or list %s in the place of search",
				len(values[i]), s.Over)})
		}
	}
	if session := l.Concurrency; s.Over == "request_concurrency" && len(session) == 1 && s.To > session[0] && !l.Oversubscribe {
		conflicts = append(conflicts, Conflict{"search.to", fmt.Sprintf("is %d, above concurrency, %d: no more requests than that can be in flight", s.To, session[0])})
	}
	return conflicts
}

// replaceSearch takes the search out where what it searches is given from outside the file.
func (v *validator) replaceSearch(root *node) {
	search := root.at(path{"load", "search"})
	if search == nil || search.comesFromAny(v.overrides) {
		return
	}
	over := "concurrency"
	if named := search.get("over"); named != nil {
		over = named.literal
	}
	for _, o := range v.overrides {
		if o.path.String() == "load."+over && o.value.kind != null {
			root.get("load").remove("search")
			return
		}
	}
}

func (n *node) comesFromAny(overrides []override) bool {
	for _, o := range overrides {
		if n.comesFrom(o.place.file) {
			return true
		}
	}
	return false
}
