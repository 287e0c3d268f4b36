package template

import (
	"cmp"

	"portico/template/expr"
)

// deploymentValue is deployment(). Most templates ask for the name alone, and the template may
// be large.
func (s *scope) deploymentValue() (expr.Value, error) {
	deployment := made{knownMember("name", expr.StringOf(s.name))}
	if s.at.Group == "" {
		deployment = append(deployment, knownMember("location", s.location))
	}
	mode := "Incremental"
	if s.parent == nil {
		mode = cmp.Or(s.in.Mode, mode)
	}
	properties := made{
		knownMember("template", s.written(s.template)),
		{"templateHash", func() (expr.Value, error) { return expr.StringOf(s.hash(s.template)), nil }},
		{"parameters", s.givenParameters},
		knownMember("mode", expr.StringOf(mode)), knownMember("provisioningState", expr.StringOf("Running")),
	}
	return expr.SourceOf(expr.Object, append(deployment, knownMember("properties", expr.SourceOf(expr.Object, properties)))), nil
}

func knownMember(name string, v expr.Value) madeMember {
	return madeMember{name, func() (expr.Value, error) { return v, nil }}
}

// givenParameters are the parameters as they were given: not those that have their default
// values.
func (s *scope) givenParameters() (expr.Value, error) {
	var members []expr.Member
	for _, slot := range s.parameterOf {
		if slot.given == nil {
			continue
		}
		v := slot.given.Value
		if !v.Is(expr.Null) { // which may stand for a default value that asks for this
			var err error
			if v, err = s.parameter(slot.name); err != nil {
				return v, err
			}
		}
		members = append(members, expr.Member{Name: slot.name, Value: object("value", v)})
	}
	return expr.ObjectOf(members...), s.budget.Elements(2 * len(members))
}
