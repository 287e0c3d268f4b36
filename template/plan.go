package template

import (
	"slices"

	"portico/template/document"
	"portico/template/expr"
)

// Plan is the result of expanding a template: loops and nested deployments are unfolded, and
// resources with a false condition are left out.
type Plan struct {
	// Resources are sorted so that each comes after all that it depends on.
	Resources []*Resource
	Outputs   []Output
	// Parameters are in the template's order, with the values used for the expansion.
	Parameters []Parameter
	// Deployments are the unfolded nested deployments, outer ones first.
	Deployments []*Deployment
	// Secrets are secret values, and values with secret parts: parameters, and the results of
	// expressions that use them.
	Secrets []expr.Value
}

// Resource is a resource to deploy, or to read if Existing is set.
type Resource struct {
	ID         string
	Symbol     string // empty if the template gives resources no symbols
	Type       string
	Name       string // including its parents' names: vnet/subnet
	APIVersion string
	Scope      expr.Scope // its group or subscription
	Existing   bool
	// Body is the request body. Parts of it may be Pending or Secure.
	Body    expr.Value
	Options Options
	// Condition is true or Pending. A Pending condition decides at deployment whether the resource
	// is sent.
	Condition expr.Value
	// DependsOn lists the resources that must have succeeded first.
	DependsOn []*Resource
	Loop      *Loop       // nil outside of a loop
	Within    *Deployment // the enclosing nested deployment; nil in the outermost template
	// Unfolds is set for a nested deployment whose resources cannot be listed before an answer
	// arrives. Body has its template, and Unfold returns its plan once the parameters are known.
	Unfolds *Unfolding
	// Awaits lists the nested deployments that must have ended first.
	Awaits []*Deployment
	// At is the declaration in the template.
	At *document.Node
}

// Loop is a resource's position in its loop.
type Loop struct {
	Name         string
	Index, Count int
	// Batch is how many of the loop's resources are deployed concurrently; 0 means all. DependsOn
	// already reflects it.
	Batch int
}

// Deployment is a nested deployment.
type Deployment struct {
	ID    string
	Name  string
	Scope expr.Scope
	// Location defaults to the enclosing deployment's. It may be Pending.
	Location expr.Value
	Template *document.Node
	Within   *Deployment // the enclosing nested deployment; nil in the outermost template
	// DependsOn lists the resources that must have succeeded before any of the deployment's is
	// sent.
	DependsOn []*Resource
	Awaits    []*Deployment // as in Resource
	// Condition is as in Resource. The deployment's resources have it as well.
	Condition  expr.Value
	Parameters []Parameter
	Outputs    []Output
}

// Nested returns all nested deployments, with those that are unfolded later at the end.
func (p *Plan) Nested() []*Deployment {
	all := slices.Clone(p.Deployments)
	for _, r := range p.Resources {
		if r.Unfolds != nil {
			all = append(all, r.Unfolds.Deployment)
		}
	}
	return all
}

// Output is a value that a template returns. It may be Pending or Secure.
type Output struct {
	Name, Type string
	Value      expr.Value
	// Condition is true or Pending. A Pending condition decides after the deployment whether the
	// output exists.
	Condition expr.Value
}

// Parameter is a parameter with its value, which may be Secure.
type Parameter struct {
	Name, Type string
	Value      expr.Value
}

// Needs returns the questions that a value depends on, as calls, in order of appearance.
func Needs(v expr.Value) []string {
	var needs []string
	seen := map[string]bool{}
	expr.Invocations(v, func(call *expr.Invocation) {
		if !asksProvider(call.Name) {
			return
		}
		if text := expr.Print(call); !seen[text] {
			seen[text] = true
			needs = append(needs, text)
		}
	})
	return needs
}

// Document returns the plan for programs to read. Pending values are shown as expressions.
func (p *Plan) Document() expr.Value {
	resources := make([]expr.Value, len(p.Resources))
	for i, r := range p.Resources {
		resources[i] = r.document()
	}
	outputs := make([]expr.Member, len(p.Outputs))
	for i, o := range p.Outputs {
		v := object("type", o.Type, "value", o.Value)
		if !o.Value.Known() || !o.Condition.Known() {
			v = object("type", o.Type, "needs", texts(Needs(expr.ArrayOf(o.Condition, o.Value))))
		}
		outputs[i] = expr.Member{Name: o.Name, Value: v}
	}
	return object("resources", expr.ArrayOf(resources...), "outputs", expr.ObjectOf(outputs...))
}

func (r *Resource) document() expr.Value {
	pairs := []any{"id", r.ID}
	if r.Symbol != "" {
		pairs = append(pairs, "symbol", r.Symbol)
	}
	pairs = append(pairs, "type", r.Type, "apiVersion", r.APIVersion, "existing", expr.BoolOf(r.Existing))
	if !r.Condition.Known() {
		pairs = append(pairs, "condition", r.Condition)
	}
	if !r.Existing {
		pairs = append(pairs, "body", r.Body)
	}
	waits := make([]string, len(r.DependsOn))
	for i, other := range r.DependsOn {
		waits[i] = other.ID
	}
	return object(append(pairs, "dependsOn", texts(waits), "needs", texts(Needs(expr.ArrayOf(r.Condition, r.Body))))...)
}

func texts(list []string) expr.Value {
	values := make([]expr.Value, len(list))
	for i, text := range list {
		values[i] = expr.StringOf(text)
	}
	return expr.ArrayOf(values...)
}
