package inventory

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"testing"
)

// changesScopes matches the statements after which memory of scopes is out of date.
var changesScopes = regexp.MustCompile(`^(INSERT INTO|UPDATE|DELETE FROM) (subscriptions|resource_groups|registrations|role_assignments|role_definitions)\b`)

// A transaction that changes a scope and does not say so leaves other replicas with
// what was before, for as long as they remember it.
func TestChangesOfScopesAreRecorded(t *testing.T) {
	statements, _ := texts(t)
	watched := map[string]bool{"erasures": true} // a list of them
	for name, text := range statements {
		if changesScopes.MatchString(text) {
			watched[name] = true
		}
	}
	found := 0
	for _, name := range storeFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			changes, says := "", false
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && watched[id.Name] {
					changes = id.Name
				} else if ok && (id.Name == "ChangesScope" || id.Name == "LockScopeChange") {
					says = true
				}
				return true
			})
			if changes == "" {
				continue
			}
			if found++; !says {
				t.Errorf("%s: %s uses %s and does not call ChangesScope", name, f.Name.Name, changes)
			}
		}
	}
	if found < 16 {
		t.Errorf("only %d functions change scopes", found)
	}
}
