package template

import (
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// ReadArguments reads a parameter file, or the parameters of a deployment's request body.
func ReadArguments(n *document.Node) ([]Argument, []*document.Fault) {
	var faults []*document.Fault
	if inner := n.MemberOrNull("parameters"); inner != nil && (n.Member("$schema") != nil || n.Member("contentVersion") != nil) {
		n = inner
	}
	if n.Is(expr.Null) {
		return nil, nil
	}
	if !n.Is(expr.Object) {
		return nil, []*document.Fault{n.Fault(Code, "parameters are an object, and this is %s", n.Value.Kind())}
	}
	faults = n.NameClashes(Code)
	var arguments []Argument
	for _, m := range n.Present() {
		value := m.Node.MemberOrNull("value")
		if sentence := unsupportedForm(m.Node.Value); sentence != "" {
			faults = append(faults, m.Node.Fault(Code, sentence, m.Name))
			continue
		}
		if value == nil {
			faults = append(faults, m.Node.Fault(Code, "the parameter '%s' has no member 'value'", m.Name))
			continue
		}
		arguments = append(arguments, Argument{Name: m.Name, Value: value.Value, At: value})
	}
	return arguments, faults
}

// unsupportedForms are ARM's alternatives to a parameter's value that Portico rejects.
var unsupportedForms = [...]struct{ member, sentence string }{
	{"reference", "the parameter '%s' refers to a Key Vault, which is not supported: give its value"},
	{"expression", "the parameter '%s' has an expression of external input, which is not supported: give its value"},
}

func unsupportedForm(argument expr.Value) (sentence string) {
	for _, form := range unsupportedForms {
		if m, _ := argument.Member(form.member); !m.Is(expr.Null) {
			return form.sentence
		}
	}
	return ""
}

func (s *scope) readParameters(arguments []Argument) {
	declared := s.template.Member("parameters")
	if declared != nil && !declared.Is(expr.Object) {
		s.fault(declared, "parameters are an object, and this is %s", declared.Value.Kind())
		return
	}
	if declared != nil {
		for _, m := range declared.Present() {
			slot := &slot{name: m.Name, node: m.Node}
			s.parameters[strings.ToLower(m.Name)] = slot
			s.parameterOrder = append(s.parameterOrder, slot)
		}
	}
	if len(s.parameterOrder) > maxParameters {
		s.fault(declared, "the template has %d parameters, and %d are the most", len(s.parameterOrder), maxParameters)
	}
	s.assignArguments(arguments, declared)
	for _, slot := range s.parameterOrder {
		_, _ = s.parameter(slot.name) // faults are reported at the parameter
	}
}

// assignArguments gives parameters their values.
func (s *scope) assignArguments(arguments []Argument, declared *document.Node) {
	for i := range arguments {
		slot := s.parameters[strings.ToLower(arguments[i].Name)]
		if slot != nil {
			slot.given = &arguments[i]
			continue
		}
		names := make([]string, len(s.parameterOrder))
		for i, slot := range s.parameterOrder {
			names[i] = slot.name
		}
		at := arguments[i].At
		if at == nil {
			at = declared
		}
		if at == nil {
			at = s.template
		}
		s.fault(at, "the template has no parameter '%s'%s", arguments[i].Name, s.suggestName(arguments[i].Name, names))
	}
}

// parameter returns a parameter's value.
func (s *scope) parameter(name string) (expr.Value, error) {
	slot := s.parameters[strings.ToLower(name)]
	if slot == nil {
		return expr.Value{}, s.unknown("parameter", name, s.parameters)
	}
	return s.evaluateOnce(slot, "parameters('"+slot.name+"')", func() (expr.Value, bool) { return s.parameterValue(slot) })
}

func (s *scope) unknown(what, name string, among map[string]*slot) error {
	names := make([]string, 0, len(among))
	for _, slot := range among {
		names = append(names, slot.name)
	}
	slices.Sort(names)
	return expr.Errorf("the template has no %s '%s'%s", what, name, s.suggestName(name, names))
}

// stepsOfName is the cost of comparing one name with another for similarity.
const stepsOfName = 8

// suggestName returns the end of an error message that suggests a similar name, or "".
func (e *expansion) suggestName(name string, names []string) string {
	if e.budget.Steps(stepsOfName*len(names)) != nil {
		return ""
	}
	if near := expr.Nearest(name, names); near != "" && !strings.EqualFold(near, name) {
		return "; did you mean '" + near + "'?"
	}
	return ""
}

func (s *scope) parameterValue(slot *slot) (expr.Value, bool) {
	c := checker{scope: s, definitions: s.template.Member("definitions"), label: "the parameter '" + slot.name + "'"}
	definition, ok := c.resolve(slot.node)
	if !ok {
		return expr.Value{}, false
	}
	slot.kind = definition.kind
	fallback := definition.member("defaultValue")
	given := slot.given
	if given != nil && given.Value.Is(expr.Null) && (fallback != nil || definition.nullable()) {
		given = nil // null means that the parameter is not given
	}
	var v expr.Value
	at := slot.node
	switch {
	case given != nil:
		v = given.Value
		if given.At != nil {
			at = given.At
		}
	case fallback != nil:
		if v, ok = s.evaluate(fallback, &frame{defaults: true}); !ok {
			return expr.Value{}, false
		}
		at = fallback
	case definition.nullable():
		return expr.Value{}, true
	default:
		s.fault(slot.node, "the parameter '%s' has no default value, and no value is given", slot.name)
		return expr.Value{}, false
	}
	v, ok = c.check(definition, v, at)
	s.recordSecret(v)
	return v, ok
}

// parameterValues returns all parameters with their values.
func (s *scope) parameterValues() []Parameter {
	parameters := make([]Parameter, 0, len(s.parameterOrder))
	for _, slot := range s.parameterOrder {
		parameters = append(parameters, Parameter{Name: slot.name, Type: slot.kind, Value: slot.value})
	}
	return parameters
}
