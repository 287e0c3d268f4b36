package template

import (
	"cmp"

	"portico/template/expr"
)

// deploymentValue returns deployment(). It is built once, because it holds all given parameters.
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
	return s.deployment, s.budget.Elements(2 * len(s.parameterOrder))
}

// givenParameters returns the parameters with given values, without those that have their default.
func (s *scope) givenParameters() expr.Value {
	var members []expr.Member
	for _, slot := range s.parameterOrder {
		if slot.given == nil {
			continue
		}
		v := slot.given.Value
		if !v.Is(expr.Null) { // null may select a default, whose expression may call deployment()
			v, _ = s.parameter(slot.name) // its fault is reported at the parameter
		}
		members = append(members, expr.Member{Name: slot.name, Value: object("value", v)})
	}
	return expr.ObjectOf(members...)
}
