package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rule is one line of docs/architecture.md: which packages may import what.
type rule struct {
	imported string   // an import path, or a prefix of some when it ends in /...
	only     []string // the packages that may import it, as prefixes when they end in /...
	why      string
}

var rules = []rule{
	{"cuelang.org/...", []string{"sweetspot/schema"}, "the specification has one source"},
	{"github.com/apache/arrow/...", []string{"sweetspot/pipeline/results"}, "one package knows how results are stored"},
	{"github.com/tiktoken-go/...", []string{"sweetspot/runner/tokenizer"}, "one package knows vocabularies"},
	{"github.com/dlclark/...", []string{"sweetspot/runner/tokenizer"}, "one package cuts text as vocabularies ask for; elsewhere patterns take no longer than their text"},
	{"github.com/parquet-go/...", []string{"sweetspot/pipeline/results", "sweetspot/runner/workload/input"}, "one package knows how results are stored, and one the files of prompts"},
	{"github.com/alecthomas/kong", []string{"sweetspot/cmd/sweetspot"}, "libraries do not know the command line"},
	{"github.com/olekukonko/tablewriter/...", []string{"sweetspot/cmd/sweetspot"}, "printing is the command's"},
	{"github.com/vbauerster/...", []string{"sweetspot/cmd/sweetspot"}, "printing is the command's"},
	{"sweetspot/cmd/...", nil, "nothing imports a command"},
	{"sweetspot/presets", []string{"sweetspot/cmd/..."}, "presets are kept above what runs them"},
	{"sweetspot/pipeline", []string{"sweetspot/cmd/...", "sweetspot/pipeline/report", "sweetspot/presets/..."}, "a point can be run without a pipeline"},
	{"sweetspot/pipeline/results", []string{"sweetspot/cmd/...", "sweetspot/pipeline", "sweetspot/pipeline/report", "sweetspot/presets/..."}, "measuring does not know how results are stored"},
	{"sweetspot/selector/...", []string{"sweetspot/cmd/...", "sweetspot/pipeline/...", "sweetspot/presets/...", "sweetspot/selector/..."}, "measuring does not know how points are chosen"},
	{"sweetspot/runner/workload/input", []string{"sweetspot/cmd/...", "sweetspot/runner/workload/...", "sweetspot/runner/target"}, "workloads alone read files of prompts"},
	{"sweetspot/runner/workload/trace", []string{"sweetspot/runner/workload"}, "one package makes requests of traces"},
	{"sweetspot/runner", []string{"sweetspot/cmd/...", "sweetspot/runner/target", "sweetspot/runner/bench"}, "load starts in one place"},
}

func (r rule) allows(importer string) bool {
	for _, allowed := range r.only {
		if matches(allowed, importer) {
			return true
		}
	}
	return false
}

// matches reports whether path is the pattern's, where PREFIX/... stands for PREFIX and all below it.
func matches(pattern, path string) bool {
	prefix, all := strings.CutSuffix(pattern, "/...")
	return path == prefix || all && strings.HasPrefix(path, prefix+"/")
}

func TestImportsGoOneWay(t *testing.T) {
	for pkg, imports := range packages(t) {
		if pkg != "sweetspot/schema" && matches("sweetspot/schema", pkg) {
			continue
		}
		for _, imported := range imports {
			if pkg == "sweetspot/schema" && strings.HasPrefix(imported, "sweetspot/") {
				t.Errorf("%s imports %s: the schema stands below everything", pkg, imported)
			}
			for _, r := range rules {
				if matches(r.imported, imported) && !r.allows(pkg) {
					t.Errorf("%s imports %s: %s", pkg, imported, r.why)
				}
			}
		}
	}
}

// packages maps each package of the module to what its code, tests aside, imports.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "sweetspot/...").Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		found[words[0]] = words[1:]
	}
	return found
}

// forbidden names what belongs to a process, and so to its main package alone.
var forbidden = map[string]bool{
	"os.Stdout": true, "os.Stderr": true, "os.Stdin": true, "os.Exit": true, "os.Args": true, "os.Getenv": true, "os.LookupEnv": true,
	"os.Environ": true, "fmt.Print": true, "fmt.Printf": true, "fmt.Println": true, "log.Print": true, "log.Printf": true, "log.Fatal": true,
	"log.Fatalf": true,
}

func TestOnlyTheCommandTouchesTheProcess(t *testing.T) {
	eachFile(t, func(path string, fset *token.FileSet, file *ast.File) {
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "runner/bench/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := selector.X.(*ast.Ident); ok && forbidden[x.Name+"."+selector.Sel.Name] {
					t.Errorf("%s: %s.%s belongs to package main", fset.Position(n.Pos()), x.Name, selector.Sel.Name)
				}
			}
			return true
		})
	})
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	docs := map[string]int{}
	eachFile(t, func(path string, _ *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		docs[filepath.Dir(path)] += len(strings.Fields(file.Doc.Text()))
	})
	const least = 15 // words: what it does, what it does not, how it fits
	for dir, words := range docs {
		if words < least {
			t.Errorf("%s: the package comment has %d words, at least %d are needed: what it does, what it does not, how it fits", dir, words, least)
		}
	}
}

// eachFile calls visit for every Go file of the module, with its path from the module's root.
func eachFile(t *testing.T, visit func(path string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	paths, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatalf("listing files: %v", err)
	}
	fset := token.NewFileSet()
	for path := range strings.Lines(string(paths)) {
		path = strings.TrimSpace(path)
		file, err := parser.ParseFile(fset, filepath.Join(root, path), nil, parser.ParseComments)
		if err != nil {
			t.Errorf("parsing %s: %v", path, err)
			continue
		}
		visit(path, fset, file)
	}
}
