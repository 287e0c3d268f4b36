package template

import (
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// readVariables evaluates all variables, so that faults in unused ones are reported too.
func (s *scope) readVariables() {
	declared := s.template.Member("variables")
	if declared == nil {
		return
	}
	if !declared.Is(expr.Object) {
		s.fault(declared, "variables are an object, and this is %s", declared.Value.Kind())
		return
	}
	var order []*slot
	add := func(name string, n *document.Node) {
		slot := &slot{name: name, node: n}
		s.variables[strings.ToLower(name)] = slot
		order = append(order, slot)
	}
	for _, m := range declared.Members {
		if strings.EqualFold(m.Name, "copy") && isLoops(m.Node) {
			for _, loop := range m.Node.Elements {
				add(loop.Member("name").Text(), loop)
			}
			continue
		}
		add(m.Name, m.Node)
	}
	if len(order) > maxVariables {
		s.fault(declared, "the template has %d variables, and %d are the most", len(order), maxVariables)
	}
	for _, slot := range order {
		_, _ = s.variable(slot.name) // its fault is reported at the variable
	}
}

// variable returns a variable's value.
func (s *scope) variable(name string) (expr.Value, error) {
	slot := s.variables[strings.ToLower(name)]
	if slot == nil {
		return expr.Value{}, s.unknown("variable", name, s.variables)
	}
	return s.evaluateOnce(slot, "variables('"+slot.name+"')", func() (expr.Value, bool) {
		f := &frame{}
		if !s.isCopied(slot) {
			return s.evaluate(slot.node, f)
		}
		s.frame = f
		w := walker{s, s.env(s, f), f}
		return w.loop(slot.name, slot.node.Member("count"), slot.node.MemberOrNull("input"))
	})
}

// isCopied reports whether a variable comes from a loop in the variables' own copy member.
func (s *scope) isCopied(slot *slot) bool {
	loops := s.template.Member("variables").Member("copy")
	if !isLoops(loops) {
		return false
	}
	return slices.Contains(loops.Elements, slot.node)
}
