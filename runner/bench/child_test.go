package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
)

const childArgument = "bench-child"

// TestMain makes this binary the service, or a tool, when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == childArgument {
		if err := Child(context.Background(), os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func self() []string { return []string{os.Args[0], childArgument} }
