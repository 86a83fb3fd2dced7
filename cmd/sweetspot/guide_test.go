package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestTheGuideHasTheRecipesThatWereTried holds that each recipe of the guide to services is the one that its script runs.
func TestTheGuideHasTheRecipesThatWereTried(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "services.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := txtar.ParseFile(filepath.Join("testdata", "script", "run_services.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	recipes := 0
	for _, file := range script.Files {
		if ext := filepath.Ext(file.Name); ext != ".cue" && ext != ".sh" && file.Name != "validated" {
			continue
		}
		if recipes++; !strings.Contains(string(guide), "\n"+string(file.Data)+"```") {
			t.Errorf("%s is another in the guide", file.Name)
		}
	}
	if recipes < 8 {
		t.Errorf("%d recipes are tried", recipes)
	}
}
