package arm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// outages are codes of requests that are wrong which also go out where the request may
// well be right: the region that it needs has left the map, which passes.
var outages = map[Code]int{NoRegisteredProviderFound: http.StatusServiceUnavailable}

// A status and a code agree on who is at fault: whatever status a call gives to a code's
// error is of the class of the code's own.
func TestStatusesFitTheirCodes(t *testing.T) {
	codes, statuses := codesByName(t), statusesByName()
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			codeName, statusName := statusOfCode(n)
			if codeName == "" {
				return true
			}
			code, status := codes[codeName], statuses[statusName]
			if code == "" || status == 0 {
				t.Errorf("%s: the code %s under %s: one of them is unknown here", path, codeName, statusName)
			} else if usual := faults[code].status; usual/100 != status/100 && outages[code] != status {
				t.Errorf("%s: the code %s, of the status %d, under %d", path, code, usual, status)
			}
			found++
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("%d calls found", found)
	}
}

// statusOfCode returns the names in a call like NewError(code).…WithStatus(http.status);
// "" of any other node.
func statusOfCode(n ast.Node) (code, status string) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "WithStatus" {
		return "", ""
	}
	given, ok := call.Args[0].(*ast.SelectorExpr)
	if !ok { // a status that is known at run time alone, such as a provider's
		return "", ""
	}
	if of, ok := given.X.(*ast.Ident); !ok || of.Name != "http" {
		return "", ""
	}
	for {
		if call, ok = method.X.(*ast.CallExpr); !ok {
			return "", ""
		}
		inner, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return "", ""
		}
		if inner.Sel.Name == "NewError" {
			if made, ok := call.Args[0].(*ast.SelectorExpr); ok {
				return made.Sel.Name, given.Sel.Name
			}
			return "", ""
		}
		method = inner
	}
}

// codesByName returns the codes by the names of their constants.
func codesByName(t *testing.T) map[string]Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]Code{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(value.Value); err == nil {
					codes[spec.Names[0].Name] = Code(text)
				}
			}
		}
		return true
	})
	return codes
}

// statusesByName returns the statuses by the names of their constants in net/http.
func statusesByName() map[string]int {
	statuses := map[string]int{}
	for status := 100; status < 600; status++ {
		if text := http.StatusText(status); text != "" {
			statuses["Status"+strings.NewReplacer(" ", "", "-", "").Replace(text)] = status
		}
	}
	return statuses
}
