package compare

import (
	"sweetspot/selector"
)

// Winners are the selected points side by side, whatever their loads.
type Winners struct {
	Points  []*Winner   `json:"points"`  // by side; null where a side has none
	Figures []FigureRow `json:"figures"` // empty where the first side has none, or no other
}

// Winner is a side's selected point.
type Winner struct {
	Load Load `json:"load"`
	Cell
}

func winners(sides []*Side, options Options) Winners {
	w := Winners{Points: make([]*Winner, len(sides)), Figures: []FigureRow{}}
	points := make([]*selector.Judged, len(sides))
	others := 0
	for i, s := range sides {
		p := s.Verdict.Winner()
		if p == nil {
			continue
		}
		points[i] = p
		w.Points[i] = &Winner{Load(p.Load), *newCell(p)}
		if i > 0 {
			others++
		}
	}
	if points[0] != nil && others > 0 {
		w.Figures = figureRows(points, options)
	}
	return w
}
