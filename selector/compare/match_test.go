package compare

import (
	"reflect"
	"strings"
	"testing"

	"sweetspot/schema"
)

// Points are matched by all that a load has, and all of it can be ignored.
func TestEachFieldOfALoadCanBeIgnored(t *testing.T) {
	var full schema.PointLoad
	fields := reflect.ValueOf(&full).Elem()
	count := 0
	for i := range fields.NumField() {
		fields.Field(i).Set(reflect.New(fields.Field(i).Type().Elem()))
		if !strings.HasPrefix(fields.Type().Field(i).Tag.Get("json"), "asked_") {
			count++
		}
	}
	if left := without(full, LoadFields()); left != (schema.PointLoad{}) {
		t.Errorf("%+v is left when all is ignored", left)
	}
	if len(LoadFields()) != count {
		t.Errorf("points are matched by %v, want %d fields", LoadFields(), count)
	}
}
