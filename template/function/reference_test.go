package function

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"portico/template/expr"
)

var update = flag.Bool("update", false, "write docs/template-functions.md anew")

// elsewhere are the functions that are not in the library: they depend on the template, or do not
// evaluate all their arguments.
var elsewhere = family{"The template and its deployment", []row{
	{expr.Function{Name: "and", Min: 1, Max: many, Params: []expr.Param{param("values", expr.Bool)}}, "Whether all booleans are true. Arguments after a false one are not evaluated."},
	{expr.Function{Name: "coalesce", Min: 1, Max: many, Params: []expr.Param{param("values", expr.Any)}}, "The first value that is not null. Arguments after it are not evaluated."},
	{expr.Function{Name: "copyIndex", Max: 2, Params: []expr.Param{param("loop", expr.String), param("offset", expr.Int)}}, "The current index of a loop, from 0, plus an offset: of the innermost loop of resources, or of the named one. A nested deployment's template of scope `outer` sees the loops around the deployment."},
	{expr.Function{Name: "deployer"}, "The caller who deploys: objectId, tenantId, and userPrincipalName of a user whose sign-in name is known."},
	{expr.Function{Name: "deployment"}, "The deployment: name, location (at a subscription), properties with the unevaluated template, its templateHash, the given parameters, and mode."},
	{expr.Function{Name: "environment"}, "This cloud, as `/metadata/endpoints` describes it: name, authentication, resourceManager, suffixes; graph if there is one. Addresses end with a slash."},
	{expr.Function{Name: "if", Min: 3, Max: 3, Params: []expr.Param{param("condition", expr.Bool), param("then", expr.Any), param("else", expr.Any)}}, "One of two values. The other one is not evaluated."},
	{expr.Function{Name: "lambda", Min: 1, Max: many, Params: []expr.Param{param("names", expr.String), param("body", expr.Any)}}, "A function for map, filter and others: the names of its variables, then its body."},
	{expr.Function{Name: "lambdaVariables", Min: 1, Max: 1, Params: []expr.Param{param("name", expr.String)}}, "A variable of a lambda around the expression."},
	{expr.Function{Name: "list*", Min: 2, Max: 3, Params: []expr.Param{param("resource", expr.String), param("apiVersion", expr.String), param("values", expr.Object)}}, "The answer of a resource's action whose name begins with list: listKeys, listAccountSas. Needs the provider's answer. For a nested deployment, listOutputsWithSecureValues returns its outputs, by name."},
	{expr.Function{Name: "or", Min: 1, Max: many, Params: []expr.Param{param("values", expr.Bool)}}, "Whether one boolean is true. Arguments after it are not evaluated."},
	{expr.Function{Name: "parameters", Min: 1, Max: 1, Params: []expr.Param{param("name", expr.String)}}, "A parameter's value."},
	{expr.Function{Name: "reference", Min: 1, Max: 3, Params: []expr.Param{param("resource", expr.String), param("apiVersion", expr.String), param("'Full'", expr.String)}}, "A resource as its provider returns it: its properties, or the whole resource. Needs the provider's answer. For a nested deployment, the deployment as clients see it after its end: outputs and parameters without secrets, outputResources, correlationId and so on."},
	{expr.Function{Name: "references", Min: 1, Max: 2, Params: []expr.Param{param("loop", expr.String), param("'Full'", expr.String)}}, "As reference, for all resources of a loop. Needs the providers' answers."},
	{expr.Function{Name: "resourceGroup"}, "The group: id, name, location, tags, managedBy if it has one, and so on. Not available in deployments to subscriptions."},
	{expr.Function{Name: "resourceInfo", Min: 1, Max: 1, Params: []expr.Param{param("symbol", expr.String)}}, "A resource of the template: id, name, type, apiVersion."},
	{expr.Function{Name: "subscription"}, "The subscription: id, subscriptionId, tenantId, displayName."},
	{expr.Function{Name: "tenant"}, "The tenant: id, tenantId. Its name and country are unknown."},
	{expr.Function{Name: "variables", Min: 1, Max: 1, Params: []expr.Param{param("name", expr.String)}}, "A variable's value."},
}}

const preface = `# Functions of templates

The functions that expressions of a template can call, ` + "`\"[concat('a', parameters('b'))]\"`" + `. Case does not
matter in their names. Arguments in brackets are optional; … means that the argument may be repeated. Lengths of strings are
in UTF-16 units, as in .NET, and formats are .NET's in its invariant culture. Functions that ask Key Vault, pick zones, or
need management groups or providers' manifests are refused.

Members of an object whose names differ only in case are distinct; ` + "`createObject`, `json`, `union`" + ` and others keep
both, and ` + "`items` and `objectKeys`" + ` keep their order. A member is looked up by its exact name first, and then without regard to
case: by ` + "`a.b`, `a['b']`, `tryGet`, `contains`, `intersection`" + `. Case does not matter in names of parameters,
variables, functions, outputs, and members of a template and its resources, and names that differ only in case are refused.

This page is written by ` + "`go test ./template/function -run TestReference -update`" + `.
`

func TestReference(t *testing.T) {
	var page strings.Builder
	page.WriteString(preface)
	for _, f := range append(families(), elsewhere) {
		fmt.Fprintf(&page, "\n## %s\n\n| function | value |\n|---|---|\n", f.title)
		for _, r := range f.rows {
			says := r.description
			if r.DefaultsOnly {
				says += " In default values of parameters alone."
			}
			fmt.Fprintf(&page, "| `%s` | %s |\n", signature(&r.Function), strings.ReplaceAll(says, "|", "\\|"))
		}
	}
	const path = "../../docs/template-functions.md"
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(there) != page.String() {
		t.Errorf("%s is not what the rows say: write it with -update", path)
	}
}

// signature is a function with its arguments: name(a, [b], c…).
func signature(f *expr.Function) string {
	args := make([]string, len(f.Params))
	for i, p := range f.Params {
		args[i] = p.Name
		if i == len(f.Params)-1 && (f.Max < 0 || f.Max > len(f.Params)) {
			args[i] += "…"
		}
		if i >= f.Min {
			args[i] = "[" + args[i] + "]"
		}
	}
	return f.Name + "(" + strings.Join(args, ", ") + ")"
}

func TestLibraryHasNoFunctionOfTheTemplate(t *testing.T) {
	for _, r := range elsewhere.rows {
		if Find(r.Name) != nil {
			t.Errorf("%s is in the library", r.Name)
		}
	}
}
