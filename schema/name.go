package schema

import (
	"encoding/json"
	"errors"
	"fmt"
)

// CheckName says why no preset, and so no run, can have a name.
func CheckName(name string) error {
	text, err := json.Marshal(map[string]any{
		"name": name, "model": "any", "service": map[string]any{"simulator": struct{}{}}, "workload": map[string]any{"fixed": struct{}{}},
	})
	if err != nil {
		return fmt.Errorf("checking the name %q: %w", name, err)
	}
	_, err = Read("name.json", text, Options{})
	var problems Problems
	if errors.As(err, &problems) {
		return fmt.Errorf("the name %s", problems[0].Message)
	}
	return err
}
