package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// admitted are the callers of the store's methods that begin work, by file. Those in gateway
// are handlers behind the chain, which every request goes through, whatever sends it. Those
// in jobs continue work that began there.
var admitted = map[string][]string{
	"gateway/batch/batch.go":                       {"Batches.Begin"},
	"gateway/batch/job.go":                         {"Batches.BeginPart"},
	"gateway/frontdoor/deployments/deployments.go": {"Deployments.Begin"},
	"gateway/frontdoor/deployments/nest.go":        {"Nesting.BeginNested"},
	"gateway/frontdoor/groups/delete.go":           {"Deletions.Begin"},
	"gateway/frontdoor/groups/move.go":             {"Moves.Begin"},
	"gateway/proxy/write.go":                       {"Intents.Begin"},
	"jobs/groupdelete/send_delete.go":              {"Store.Begin", "Strays.BeginDelete"},
	"jobs/move/call.go":                            {"Moves.BeginCall"},
	"jobs/reconcile/fence_watcher.go":              {"Fences.BeginDelete"},
}

// A store's method that begins work has few callers, each behind the admission.
func TestWorkBeginsBehindTheAdmission(t *testing.T) {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || name == "test" || name == "inventory" || name == "jobs/jobstest"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && strings.HasPrefix(s.Sel.Name, "Begin") {
				if of := lastName(s.X); slices.Contains([]string{"Store", "Intents", "Deletions", "Moves", "Strays", "Fences", "Deployments", "Nesting", "Batches"}, of) {
					found[name] = append(found[name], of+"."+s.Sel.Name)
				}
			}
			return true
		})
		slices.Sort(found[name])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(found[name]) > 0 && !slices.Equal(found[name], admitted[name]) {
			t.Errorf("%s begins work by %q, and may by %q", name, found[name], admitted[name])
		}
	}
	for name, methods := range admitted {
		if !slices.Equal(found[name], methods) {
			t.Errorf("%s does not begin work by %q any more", name, methods)
		}
	}
}

// lastName is the last part of what a method is called on, capitalized.
func lastName(x ast.Expr) string {
	name := ""
	switch of := x.(type) {
	case *ast.Ident:
		name = of.Name
	case *ast.SelectorExpr:
		name = of.Sel.Name
	}
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
