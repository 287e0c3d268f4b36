package template

import (
	"cmp"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// readFunctions reads the functions that the template defines.
func (s *scope) readFunctions() {
	declared := s.template.Member("functions")
	if declared == nil {
		return
	}
	if !declared.Is(expr.Array) {
		s.fault(declared, "functions are an array of namespaces, and this is %s", declared.Value.Kind())
		return
	}
	for _, n := range declared.Elements {
		namespace, members := n.Member("namespace"), n.Member("members")
		if !namespace.Is(expr.String) || !members.Is(expr.Object) {
			s.fault(n, "a namespace of functions has a 'namespace' and 'members'")
			continue
		}
		for _, m := range members.Members {
			s.readFunction(namespace.Text(), m)
		}
	}
}

func (s *scope) readFunction(namespace string, m document.Member) {
	name := namespace + "." + m.Name
	if err := cmp.Or(s.budget.Steps(1), s.budget.Text(len(name))); err != nil {
		s.reportError(m.Node, err)
		return
	}
	output := m.Node.Member("output")
	value := output.MemberOrNull("value")
	if value == nil {
		s.fault(m.Node, "the function '%s' has no output with a value", name)
		return
	}
	f := &userFunction{scope: s, output: output, label: "the function '" + name + "'"}
	row := &expr.Function{Name: name, PassesThrough: true, Call: f.call}
	if parameters := m.Node.Member("parameters"); parameters != nil {
		for _, p := range parameters.Elements {
			f.parameters = append(f.parameters, p)
			row.Params = append(row.Params, expr.Param{Name: p.Member("name").Text(), Kinds: expr.Any | expr.Pending, Walk: expr.WalksNone})
		}
	}
	row.Min, row.Max = len(row.Params), len(row.Params)
	s.functions[strings.ToLower(name)] = row
}

// userFunction is a function that the template defines. It sees only its own parameters, the
// library, and the template's other functions.
type userFunction struct {
	*scope
	parameters []*document.Node
	output     *document.Node
	label      string
}

// stepsOfCall is the cost of a call, in addition to its expressions.
const stepsOfCall = 4

func (u *userFunction) call(c *expr.Call, args []expr.Value) (expr.Value, error) {
	library := userLibrary{u.scope, make(map[string]expr.Value, len(args)), u.label}
	for i, p := range u.parameters {
		name := p.Member("name").Text()
		v, err := u.checkValue(p, args[i], u.label+", its parameter '"+name+"'")
		if err != nil {
			return expr.Value{}, err
		}
		library.arguments[strings.ToLower(name)] = v
	}
	f := &frame{}
	w := walker{u.scope, u.env(library, f), f}
	if err := c.Nest(); err != nil {
		return expr.Value{}, err
	}
	if err := c.Steps(stepsOfCall); err != nil {
		return expr.Value{}, err
	}
	defer c.Unnest()
	v, ok, _ := w.value(u.output.MemberOrNull("value"))
	if !ok {
		return expr.Value{}, expr.ErrReported
	}
	return u.checkValue(u.output, v, u.label+", its output")
}

func (u *userFunction) checkValue(n *document.Node, v expr.Value, what string) (expr.Value, error) {
	k := checker{scope: u.scope, definitions: u.template.Member("definitions"), label: what}
	v, ok := k.checkPart(n, v, n)
	if !ok {
		return v, expr.ErrReported
	}
	return v, nil
}

type userLibrary struct {
	scope     *scope
	arguments map[string]expr.Value
	label     string
}

// Find implements expr.Library.
func (l userLibrary) Find(namespace, name string) *expr.Function {
	if namespace != "" {
		return l.scope.Find(namespace, name)
	}
	switch strings.ToLower(name) {
	case "parameters":
		return &expr.Function{Name: "parameters", Min: 1, Max: 1, Params: nameParam, Call: l.argument}
	case "variables", "reference", "references", "copyindex":
		return refusedFunction(name, "is not available in functions of the template's own")
	}
	if asksProvider(name) {
		return refusedFunction(name, "is not available in functions of the template's own")
	}
	return l.scope.Find("", name)
}

func (l userLibrary) argument(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	v, ok := l.arguments[strings.ToLower(args[0].Text())]
	if !ok {
		return v, expr.Errorf("%s has no parameter '%s'", l.label, args[0].Text())
	}
	return v, nil
}

// Names implements expr.Library.
func (l userLibrary) Names(namespace string) []string { return l.scope.Names(namespace) }
