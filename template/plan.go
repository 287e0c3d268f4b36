package template

import (
	"slices"

	"portico/template/document"
	"portico/template/expr"
)

// Plan is what a template asks for: loops and nested deployments are unfolded, what has a
// false condition is left out.
type Plan struct {
	// Resources stand in an order in which they could be sent.
	Resources []*Resource
	Outputs   []Output
	// Parameters have the values by which the template was expanded, in its order.
	Parameters []Parameter
	// Deployments are the nested ones that were unfolded, outer ones first.
	Deployments []*Deployment
	// Secrets are the values that are secrets, or have parts that are: those of parameters, and
	// what expressions have made of them.
	Secrets []expr.Value
}

// Resource is a resource that is put, or, where it is Existing, only read.
type Resource struct {
	ID         string
	Symbol     string // empty where the template gives resources no symbols
	Type       string
	Name       string // with those of its parents: vnet/subnet
	APIVersion string
	Scope      expr.Scope // the group, or the subscription, in which it lies
	Existing   bool
	// Body is what is sent. Parts of it may be Pending, or Secure.
	Body    expr.Value
	Options Options
	// Condition is true, or Pending: then the resource is sent only if it turns out true.
	Condition expr.Value
	// DependsOn are the resources that must have succeeded before.
	DependsOn []*Resource
	Loop      *Loop       // nil outside of a loop
	Within    *Deployment // the nested deployment that it is of; nil for the template's own
	// Unfolds is a nested deployment whose resources' names, or count, need an answer: Body
	// has its template, and Unfold gives its plan once its parameters are known.
	Unfolds *Unfolding
	// Awaits are the nested deployments that must have ended before.
	Awaits []*Deployment
	// At is where the template declares it.
	At *document.Node
}

// Loop is what a resource in a loop knows of it.
type Loop struct {
	Name         string
	Index, Count int
	// Batch is how many of the loop's resources are sent side by side: 0 is all.
	// DependsOn says so already.
	Batch int
}

// Deployment is a nested deployment.
type Deployment struct {
	ID    string
	Name  string
	Scope expr.Scope
	// Location is its own, or that of the deployment around it. It may be Pending.
	Location expr.Value
	Template *document.Node
	Within   *Deployment // nil for one of the template's own
	// DependsOn are the resources that must have succeeded before any of its own is sent.
	DependsOn []*Resource
	Awaits    []*Deployment // as a resource's
	// Condition is as a resource's: its resources have it as well.
	Condition  expr.Value
	Parameters []Parameter
	Outputs    []Output
}

// Nested returns all nested deployments, those that are unfolded later at the end.
func (p *Plan) Nested() []*Deployment {
	all := slices.Clone(p.Deployments)
	for _, r := range p.Resources {
		if r.Unfolds != nil {
			all = append(all, r.Unfolds.Deployment)
		}
	}
	return all
}

// Output is a value that a template returns. It may be Pending, or Secure.
type Output struct {
	Name, Type string
	Value      expr.Value
	// Condition is true, or Pending: then the output is there only if it turns out true.
	Condition expr.Value
}

// Parameter is a parameter with its value, which may be Secure.
type Parameter struct {
	Name, Type string
	Value      expr.Value
}

// Needs are the answers that a value waits for, as calls in the order in which they stand.
func Needs(v expr.Value) []string {
	var needs []string
	seen := map[string]bool{}
	expr.Invocations(v, func(call *expr.Invocation) {
		if !asks(call.Name) {
			return
		}
		if text := expr.Print(call); !seen[text] {
			seen[text] = true
			needs = append(needs, text)
		}
	})
	return needs
}

// Document is the plan as programs read it. A member that needs an answer is its
// expression.
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
