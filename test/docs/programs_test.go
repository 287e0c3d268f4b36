package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// everywhere are the programs that a test may start by their names: a machine that builds
// Portico has them.
var everywhere = []string{"go", "bash", "sh", "sleep", "stty"}

// elsewhere are folders of the main module whose tests `make quick` does not run, and what
// measures for callers that have found its programs by harness.Installed.
var elsewhere = []string{"test/clients/", "test/packaging/", "test/dashboards/", "test/upgrade/", "test/bench/load/"}

// Tests get programs that may be missing from harness.Installed, which is where it is
// decided that `make quick` leaves the test out and that any other run fails.
func TestProgramsAreFoundInOnePlace(t *testing.T) {
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, file)
		switch {
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || isModule(file)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || name == "test/harness/installed.go":
			return nil
		case strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/"):
			checkPrograms(t, file, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isModule(folder string) bool {
	found, _ := filepath.Glob(filepath.Join(folder, "go.mod"))
	return len(found) > 0
}

func checkPrograms(t *testing.T, file, name string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		of, ok := call.Fun.(*ast.SelectorExpr)
		if from, isName := selected(of); !ok || !isName || from != "exec" {
			return true
		}
		at := slices.Index([]string{"LookPath", "Command", "CommandContext"}, of.Sel.Name)
		if at < 0 {
			return true
		}
		literal, ok := call.Args[max(0, at-1)].(*ast.BasicLit)
		if !ok && at > 0 { // a path that a caller found
			return true
		}
		program := ""
		if ok {
			program, _ = strconv.Unquote(literal.Value)
		}
		known := slices.Contains(everywhere, program)
		started := at > 0 && slices.ContainsFunc(elsewhere, func(folder string) bool { return strings.HasPrefix(name, folder) })
		if !known && !started {
			t.Errorf("%s finds %q by itself: harness.Installed does", name, program)
		}
		return true
	})
}

func selected(of *ast.SelectorExpr) (from string, ok bool) {
	if of == nil {
		return "", false
	}
	x, ok := of.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return x.Name, true
}
