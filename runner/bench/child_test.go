package bench

import (
	"os"
	"testing"
)

// TestMain makes this binary the service, or a tool, when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == childArgument {
		os.Exit(Main("bench", os.Args[1:], os.Stdin, os.Stdout, os.Stderr, nil))
	}
	os.Exit(m.Run())
}

func self() []string { return []string{os.Args[0], childArgument} }
