package template

import (
	"strings"

	"portico/template/expr"
	"portico/template/function"
)

// Find implements expr.Library for expressions of the template.
func (s *scope) Find(namespace, name string) *expr.Function {
	name = strings.ToLower(name)
	if namespace != "" {
		return s.functions[strings.ToLower(namespace)+"."+name]
	}
	if f := s.context[name]; f != nil {
		return f
	}
	if f := function.Find(name); f != nil {
		return f
	}
	if strings.HasPrefix(name, "list") {
		return s.context["list*"]
	}
	return nil
}

// Names implements expr.Library.
func (s *scope) Names(namespace string) []string {
	var names []string
	if namespace != "" {
		for name := range s.functions {
			if own, ok := strings.CutPrefix(name, strings.ToLower(namespace)+"."); ok {
				names = append(names, own)
			}
		}
		return names
	}
	for _, f := range s.context {
		names = append(names, f.Name)
	}
	return append(names, function.Names()...)
}

// asksProvider reports whether the named function asks a provider.
func asksProvider(name string) bool {
	name = strings.ToLower(name)
	return name == "reference" || name == "references" ||
		strings.HasPrefix(name, "list") && function.Find(name) == nil
}

var nameParam = []expr.Param{{Name: "name", Kinds: expr.String}}

// refusedFunction returns a function that exists in ARM, but fails here with the given reason.
func refusedFunction(name, why string) *expr.Function {
	return &expr.Function{Name: name, Max: -1, Params: []expr.Param{{Name: "argument", Kinds: expr.Any | expr.Pending}}, PassesThrough: true,
		Call: func(*expr.Call, []expr.Value) (expr.Value, error) { return expr.Value{}, expr.Errorf("it %s", why) }}
}

// refused lists the functions that need something Portico does not have.
var refused = map[string]string{
	"managementGroup": "is not supported: deployments stand in groups and subscriptions",
	"providers":       "is not supported: write api-versions and locations down",
	"pickZones":       "is not supported: write zones down",
	"externalInput":   "is not supported: give the parameter's value",
	"getSecret":       "is not supported: Key Vault is not asked for secrets",
}

// stepsOfContext is the cost of the object that a function such as deployment() returns.
const stepsOfContext = 8

// contextFunctions returns the functions that depend on the template or on its scope.
func (s *scope) contextFunctions() map[string]*expr.Function {
	value := func(v func() (expr.Value, error)) func(*expr.Call, []expr.Value) (expr.Value, error) {
		return func(*expr.Call, []expr.Value) (expr.Value, error) { return v() }
	}
	named := func(v func(string) (expr.Value, error)) func(*expr.Call, []expr.Value) (expr.Value, error) {
		return func(_ *expr.Call, args []expr.Value) (expr.Value, error) { return v(args[0].Text()) }
	}
	id := expr.Param{Name: "resourceName or resourceIdentifier", Kinds: expr.String}
	version := expr.Param{Name: "apiVersion", Kinds: expr.String}
	rows := []*expr.Function{
		{Name: "parameters", Min: 1, Max: 1, Params: nameParam, PassesThrough: true, Call: named(s.parameter)},
		{Name: "variables", Min: 1, Max: 1, Params: nameParam, PassesThrough: true, Call: named(s.variableHere)},
		{Name: "copyIndex", Max: 2, Params: []expr.Param{{Name: "loopName or offset", Kinds: expr.String | expr.Int}, {Name: "offset", Kinds: expr.Int}},
			Call: s.copyIndex},
		{Name: "deployment", Steps: stepsOfContext, Call: value(s.deploymentValue)},
		{Name: "deployer", Steps: stepsOfContext, Call: value(s.deployerValue)},
		{Name: "environment", Steps: stepsOfContext, Call: value(s.environmentValue)},
		{Name: "subscription", Steps: stepsOfContext, Call: value(s.subscriptionValue)},
		{Name: "resourceGroup", Steps: stepsOfContext, Call: value(s.groupValue), MissingReason: s.groupMissingReason()},
		{Name: "tenant", Steps: stepsOfContext, Call: value(s.tenantValue)},
		{Name: "reference", Min: 1, Max: 3, Params: []expr.Param{id, version, {Name: "'Full'", Kinds: expr.String}}, Deploying: true, Call: s.reference},
		{Name: "references", Min: 1, Max: 2, Params: []expr.Param{{Name: "symbolicName", Kinds: expr.String}, {Name: "'Full'", Kinds: expr.String}},
			Deploying: true, Call: s.references},
		{Name: "resourceInfo", Min: 1, Max: 1, Params: []expr.Param{{Name: "symbolicName", Kinds: expr.String}}, Steps: stepsOfContext, Call: s.resourceInfo},
		{Name: "list*", Min: 2, Max: 3, Params: []expr.Param{id, version, {Name: "functionValues", Kinds: expr.Object}}, Deploying: true, Call: s.list},
	}
	for name, why := range refused {
		rows = append(rows, refusedFunction(name, why))
	}
	context := make(map[string]*expr.Function, len(rows))
	for _, row := range rows {
		context[strings.ToLower(row.Name)] = row
	}
	return context
}

func (s *scope) variableHere(name string) (expr.Value, error) {
	if s.frame.defaults {
		return expr.Value{}, expr.Errorf("it is not available in default values of parameters")
	}
	return s.variable(name)
}

// copyIndex returns the index of the named loop. Without a name, it takes the innermost resource
// loop, or the innermost loop of any kind if there is no resource loop.
func (s *scope) copyIndex(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	name, offset := "", int64(0)
	for i, arg := range args {
		switch {
		case arg.Is(expr.Int) && i == len(args)-1:
			offset = arg.Int()
		case arg.Is(expr.String):
			name = arg.Text()
		default:
			return expr.Value{}, expr.Errorf("it takes a loop's name, an offset, or both in this order")
		}
	}
	at := -1
	for i, loop := range s.frame.loops {
		if name == "" && (loop.resource || at < 0 || !s.frame.loops[at].resource) || name != "" && strings.EqualFold(loop.name, name) {
			at = i
		}
	}
	switch {
	case at >= 0:
		return expr.IntOf(int64(s.frame.loops[at].index) + offset), nil
	case name == "":
		return expr.Value{}, expr.Errorf("no loop is around the expression")
	}
	return expr.Value{}, expr.Errorf("no loop '%s' is around the expression", name)
}
