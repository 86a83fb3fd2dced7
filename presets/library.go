// Package presets keeps presets: those that ship with sweetspot, and views of the runs that a store keeps.
//
// The shipped ones lie in library and are embedded; each is complete, and says in its first line when to use it. A preset that was run is kept with its
// run: [Runs] and [Get] say what came of it, from stored rows and the run's own rule. The package measures and chooses nothing: validating a preset is
// package schema's, running it package pipeline's, storing runs package results'.
package presets

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed library/*.cue
var library embed.FS

// Preset is one that ships with sweetspot.
type Preset struct {
	Name string // such as "quickstart": its file is NAME.cue
	Use  string // when to use it, one line
	Text []byte // the file, CUE
}

// List gives the presets that ship, by name.
func List() ([]Preset, error) {
	entries, err := library.ReadDir("library")
	if err != nil {
		return nil, fmt.Errorf("listing the shipped presets: %w", err)
	}
	var all []Preset
	for _, entry := range entries {
		preset, err := Read(strings.TrimSuffix(entry.Name(), ".cue"))
		if err != nil {
			return nil, err
		}
		all = append(all, preset)
	}
	return all, nil
}

// Read gives the shipped preset of a name, or an error that names those there are.
func Read(name string) (Preset, error) {
	text, err := library.ReadFile(path.Join("library", name+".cue"))
	if err != nil {
		return Preset{}, fmt.Errorf("no preset named %q ships with sweetspot: there are %s", name, strings.Join(names(), ", "))
	}
	use, _, _ := strings.Cut(string(text), "\n")
	return Preset{Name: name, Use: strings.TrimPrefix(use, "// "), Text: text}, nil
}

func names() []string {
	entries, err := library.ReadDir("library")
	if err != nil { // the folder is embedded
		return nil
	}
	all := make([]string, len(entries))
	for i, entry := range entries {
		all[i] = strings.TrimSuffix(entry.Name(), ".cue")
	}
	return all
}
