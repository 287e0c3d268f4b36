package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"portico/gateway"
)

// kindsThemselves are the places that name kinds of jobs: the packages that do their work
// or make their jobs, and the list of them.
var kindsThemselves = []string{"gateway/kinds.go", "gateway/batch/job.go", "jobs/", "inventory/"}

// otherMeanings are literals that are spelt like a kind, and are none.
var otherMeanings = map[string][]string{
	"arm/absence.go":                {"registration"},                           // a word of providers
	"config/":                       {"batch", "move", "registration", "sweep"}, // keys of the configuration
	"cmd/portico/demo_provider.go":  {"registration"},
	"cmd/portico/operator/":         {"sink", "sweep", "fence", "notice"}, // commands, flags and titles
	"deploy/":                       {"verify"},
	"provider/certify/":             {"move", "registration"},
	"provider/contoso/":             {"move", "notice"},
	"events/event.go":               {"sweep"}, // an origin
	"gateway/admin/api/provider.go": {"registration"},
	"gateway/admin/doubts.go":       {"verify"}, // a flag of a row
	"gateway/frontdoor/actions.go":  {"deployment"},
	"template/":                     {"batch", "deployment"}, // of the language
}

// Whoever adds a kind of job changes three places: its package, the transaction that makes
// its jobs, and gateway/kinds.go. No other code names kinds, but to have a runner look for
// jobs that were just made.
func TestNothingElseNamesAKindOfJob(t *testing.T) {
	names := slices.Collect(maps.Keys(gateway.Kinds()))
	quoted := regexp.MustCompile("['\"`](" + strings.Join(names, "|") + ")['\"`]")
	constant := regexp.MustCompile(`^[A-Z]\w*Job$`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || name == "test"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		if slices.ContainsFunc(kindsThemselves, func(place string) bool { return strings.HasPrefix(name, place) }) {
			return nil
		}
		switch filepath.Ext(path) {
		case ".js":
			text, err := os.ReadFile(path)
			for _, found := range quoted.FindAllString(string(text), -1) {
				t.Errorf("%s names the kind of job %s", name, found)
			}
			return err
		case ".go":
			return eachNameOfAKind(path, names, constant, func(what string) {
				for place, words := range otherMeanings {
					if strings.HasPrefix(name, place) && slices.Contains(words, what) {
						return
					}
				}
				t.Errorf("%s names the kind of job %s", name, what)
			})
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// eachNameOfAKind finds literals that are spelt like a kind, and uses of the constants of
// kinds other than for a nudge.
func eachNameOfAKind(path string, names []string, constant *regexp.Regexp, found func(string)) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			of, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || of.Sel.Name != "Nudge"
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && slices.Contains(names, text) {
				found(text)
			}
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && (of.Name == "inventory" && constant.MatchString(n.Sel.Name) || of.Name == "sweep" && n.Sel.Name == "Job") {
				found(of.Name + "." + n.Sel.Name)
			}
		}
		return true
	})
	return nil
}
