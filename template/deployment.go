package template

import (
	"cmp"

	"portico/template/expr"
)

// deploymentValue is deployment(). It is made once, as it has all parameters that were given.
func (s *scope) deploymentValue() (expr.Value, error) {
	if !s.deployment.Is(expr.Null) {
		return s.deployment, nil
	}
	mode := "Incremental"
	if s.parent == nil {
		mode = cmp.Or(s.in.Mode, mode)
	}
	members := []any{"name", s.name}
	if s.at.Group == "" {
		members = append(members, "location", s.location)
	}
	properties := object("template", s.template.Value, "templateHash", s.template.Hash(), "parameters", s.givenParameters(),
		"mode", mode, "provisioningState", "Running")
	s.deployment = object(append(members, "properties", properties)...)
	return s.deployment, s.budget.Elements(2 * len(s.parameterOf))
}

// givenParameters are the parameters as they were given: not those that have their default
// values.
func (s *scope) givenParameters() expr.Value {
	var members []expr.Member
	for _, slot := range s.parameterOf {
		if slot.given == nil {
			continue
		}
		v := slot.given.Value
		if !v.Is(expr.Null) { // which may stand for a default value that asks for this
			v, _ = s.parameter(slot.name) // its faults are reported where they stand
		}
		members = append(members, expr.Member{Name: slot.name, Value: object("value", v)})
	}
	return expr.ObjectOf(members...)
}
