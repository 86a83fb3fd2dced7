package report

import (
	"reflect"
	"strings"
	"testing"

	"sweetspot/schema"
	"sweetspot/selector"
)

// Whatever a sweep is of, its points are drawn along it.
func TestTheAxisIsWhatPointsDifferIn(t *testing.T) {
	of := reflect.TypeFor[schema.PointLoad]()
	for i := range of.NumField() {
		name := of.Field(i).Tag.Get("json")
		if strings.HasPrefix(name, "asked_") {
			continue
		}
		points := make([]selector.Judged, 2)
		for j := range points {
			sixteen := int64(16)
			points[j].Load.Concurrency = &sixteen
			field := reflect.ValueOf(&points[j].Load).Elem().Field(i)
			value := reflect.New(field.Type().Elem())
			value.Elem().Set(reflect.ValueOf(j + 1).Convert(value.Elem().Type()))
			field.Set(value)
		}
		a := axisOf(points)
		if level := a.level(points[1].Load); a.column != name || level == nil || *level != 2 {
			t.Errorf("points that differ in %s are drawn along %s", name, a.column)
		}
	}
}
