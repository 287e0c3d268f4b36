package template

import (
	"cmp"
	"context"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// Unfolding is a nested deployment whose resources cannot be listed before its parameters are
// known.
type Unfolding struct {
	// Deployment has neither parameters nor outputs: the plan that Unfold returns has them.
	Deployment *Deployment
	arguments  []Argument
}

// unfold evaluates a nested deployment, once.
func (d *declaration) unfold() error {
	switch d.unfolding {
	case finished:
		return nil
	case evaluating:
		return expr.Errorf("the deployment '%s' needs itself", d.name)
	}
	d.unfolding = evaluating
	defer func() { d.unfolding = finished }()
	properties := d.node.Member("properties")
	d.s.distinctNames(properties)
	t := d.readTemplate(properties.Member("template"))
	if !d.refuseNested(properties, t) {
		return expr.ErrReported
	}
	outer := d.isOuter(properties)
	location := d.readLocation()
	nested := d.s.newScope(t, d.at, d.name, location)
	nested.parent, nested.depth = d, d.s.depth+1
	if nested.depth > maxNesting {
		d.s.fault(d.node, "deployments nest deeper than %d levels", maxNesting)
		return expr.ErrReported
	}
	d.readArguments(properties.Member("parameters"))
	if outer {
		nested.values, nested.loops = d.s.values, d.loops
		nested.readOuter()
	} else {
		nested.read(d.arguments)
	}
	declared := d.s.count
	nested.declare()
	nested.expand()
	nested.outputs()
	if nested.needsAnswers {
		d.s.count = declared
		d.location, d.template = location, t
		d.unfolds = &Unfolding{arguments: d.arguments}
		d.body = d.deferredBody(t)
		return cmp.Or(d.body.CheckDepth(), d.s.budget.Bytes(d.body.Size()))
	}
	d.nested, d.location, d.template = nested, location, t
	return nil
}

// bytesOfNodes is the size of a value's nodes, as a multiple of the value's size.
const bytesOfNodes = 3

// readTemplate returns the nested template, which may be the result of an expression.
func (d *declaration) readTemplate(n *document.Node) *document.Node {
	if !n.Is(expr.String) {
		return n
	}
	v, ok := d.s.evaluate(n, d.frame())
	if !ok || !v.Known() {
		return n
	}
	if err := d.s.budget.Bytes(bytesOfNodes * v.Size()); err != nil {
		d.s.reportError(n, err)
		return n
	}
	return n.Computed(v)
}

// refuseNested reports what a nested deployment must not contain, and returns false if it found
// any.
func (d *declaration) refuseNested(properties, t *document.Node) bool {
	s := d.s
	for _, name := range []string{"templateLink", "parametersLink"} {
		if n := properties.Member(name); n != nil {
			s.fault(n, "links to templates and parameters ('%s') are not supported: put the template into 'template'", name)
			return false
		}
	}
	if n := properties.Member("onErrorDeployment"); n != nil {
		s.fault(n, "deployments upon errors ('onErrorDeployment') are not supported")
		return false
	}
	if mode := properties.Member("mode"); mode != nil && !strings.EqualFold(mode.Text(), "Incremental") {
		s.fault(mode, "a nested deployment's mode is Incremental")
		return false
	}
	if !t.Is(expr.Object) {
		s.fault(d.node, "the deployment '%s' has no template in its properties", d.name)
		return false
	}
	if d.at.Group == "" && d.node.Member("location") == nil {
		s.fault(d.node, "a deployment to a subscription needs a location")
		return false
	}
	return true
}

func (d *declaration) isOuter(properties *document.Node) bool {
	scope := properties.Member("expressionEvaluationOptions").Member("scope")
	created := properties.Member("template").Is(expr.String) // a template that an expression returns is always evaluated in its own scope
	return !created && !strings.EqualFold(scope.Text(), "inner")
}

// readLocation returns the deployment's location, by default the enclosing deployment's. It may be
// Pending.
func (d *declaration) readLocation() expr.Value {
	n := d.node.Member("location")
	if n == nil {
		return d.s.location
	}
	v, ok := d.s.evaluate(n, d.frame())
	if ok && !v.Is(expr.String|expr.Pending) {
		d.s.fault(n, "a deployment's location is a string, and this is %s", v.Kind())
	}
	return v
}

// readArguments evaluates the nested deployment's parameters in the scope of the enclosing
// template.
func (d *declaration) readArguments(n *document.Node) {
	if n == nil {
		return
	}
	if n.Is(expr.String) {
		d.readComputedArguments(n)
		return
	}
	d.s.distinctNames(n)
	for _, m := range n.Present() {
		if sentence := unsupportedForm(m.Node.Value); sentence != "" {
			d.s.fault(m.Node, sentence, m.Name)
			continue
		}
		if v, given := d.argument(m); given {
			d.arguments = append(d.arguments, Argument{Name: m.Name, Value: v, At: m.Node})
		}
	}
}

// readComputedArguments reads parameters that one expression returns:
// "[deployment().properties.parameters]".
func (d *declaration) readComputedArguments(n *document.Node) {
	made, ok := d.s.evaluate(n, d.frame())
	switch {
	case !ok:
		return
	case made.Is(expr.Pending):
		d.s.values.reportUnknown(n, made, "which parameters a deployment has")
	case !made.Is(expr.Object | expr.Null):
		d.s.fault(n, "parameters are an object, and this is %s", made.Kind())
	}
	for _, m := range made.Members() {
		argument, _ := made.MemberExact(m.Name)
		if v, given := d.computedArgument(m.Name, argument, n); given {
			d.arguments = append(d.arguments, Argument{Name: m.Name, Value: v, At: n})
		}
	}
}

// argument returns a parameter's value: the member value of its object, which may itself be the
// result of an expression.
func (d *declaration) argument(m document.Member) (v expr.Value, given bool) {
	n := m.Node
	value := n.MemberOrNull("value")
	if value != nil {
		n = value
	}
	v, ok := d.s.evaluate(n, d.frame())
	switch {
	case !ok:
		// The fault is reported; evaluation continues with an unknown value.
		return expr.PendingOf(expr.Invoke("reference")), true
	case value != nil:
		return v, true
	}
	return d.computedArgument(m.Name, v, n)
}

// computedArgument returns the member value of a parameter's object that an expression returned.
func (d *declaration) computedArgument(name string, v expr.Value, at *document.Node) (value expr.Value, given bool) {
	if v.Is(expr.Pending) {
		return expr.PendingOf(expr.PropertyOf(v.Expression(), "value")), true
	}
	if sentence := unsupportedForm(v); sentence != "" {
		d.s.fault(at, sentence, name)
		return value, false
	}
	if !v.Is(expr.Object | expr.Null) {
		d.s.fault(at, "the parameter '%s' has no member 'value'", name)
	}
	return v.Member("value")
}

// readOuter reads a nested template with outer scope. Like ARM, it ignores the template's own
// parameters and variables.
func (s *scope) readOuter() {
	s.checkMembers()
	s.checkSchema()
}

// deferredBody returns the request body of a deployment that is unfolded later.
func (d *declaration) deferredBody(t *document.Node) expr.Value {
	parameters := make([]expr.Member, len(d.arguments))
	for i, a := range d.arguments {
		parameters[i] = expr.Member{Name: a.Name, Value: object("value", a.Value)}
	}
	return object("properties", object("mode", "Incremental", "template", t.Value, "parameters", expr.ObjectOf(parameters...)))
}

// askedMembers are known only once the nested deployment has ended.
var askedMembers = []string{"timestamp", "duration", "correlationId", "providers", "dependencies", "outputResources"}

// deploymentValue returns what reference returns for a nested deployment. The members named in
// asked are Pending until the deployment has ended.
func (d *declaration) deploymentValue(version string, full bool, asked []string) (expr.Value, error) {
	if d.nested.incomplete {
		return expr.Value{}, expr.ErrReported
	}
	if d.knownMembers == nil {
		d.knownMembers = object("templateHash", d.template.Hash(), "parameters", d.nested.shownParameters(),
			"mode", "Incremental", "provisioningState", "Succeeded", "outputs", shownOutputs(d.nested.outputs())).Members()
	}
	var members []expr.Member
	for _, name := range asked {
		v := expr.PendingOf(expr.PropertyOf(pendingReference(d.id, version, false).Expression(), name))
		members = append(members, expr.Member{Name: name, Value: v})
	}
	properties := expr.ObjectOf(append(members, d.knownMembers...)...)
	if !full {
		return properties, nil
	}
	return object("id", d.id, "name", d.name, "type", deploymentType, "location", d.location, "properties", properties), nil
}

// shownParameters returns the parameters as answers show them: secrets without values.
func (s *scope) shownParameters() expr.Value {
	members := make([]expr.Member, 0, len(s.parameterOrder))
	for _, p := range s.parameterValues() {
		v := object("type", TypeName(p.Type))
		if !p.Value.Secure() && !SecureType(p.Type) {
			v = object("type", TypeName(p.Type), "value", p.Value)
		}
		members = append(members, expr.Member{Name: p.Name, Value: v})
	}
	return expr.ObjectOf(members...)
}

// Unfold evaluates the nested deployment. in is the input of the enclosing deployment; finish
// completes the value of a parameter. The results are as in [Expand].
func (u *Unfolding) Unfold(ctx context.Context, in Input, finish func(expr.Value) (expr.Value, error)) (*Plan, []*document.Fault, error) {
	of := u.Deployment
	in.Template, in.Name, in.Mode, in.Arguments = of.Template, of.Name, "", nil
	if id := of.Scope.ID(); !strings.EqualFold(id, in.Scope.ID()) {
		in.Group, in.Location = groupOf(of.Scope, func(name string) expr.Value { return groupReference(id, name) }), ""
	}
	in.Scope = of.Scope
	if of.Scope.Group == "" {
		location, err := finish(of.Location)
		if err != nil {
			return nil, []*document.Fault{of.Template.Fault(Code, "the location of the deployment '%s': %v", of.Name, err)}, ctx.Err()
		}
		in.Location = location.Text()
	}
	for _, a := range u.arguments {
		v, err := finish(a.Value)
		if err != nil {
			return nil, []*document.Fault{a.At.Fault(Code, "the parameter '%s': %v", a.Name, err)}, ctx.Err()
		}
		a.Value = v
		in.Arguments = append(in.Arguments, a)
	}
	return Expand(ctx, in)
}
