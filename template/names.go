package template

import "portico/template/document"

// checkNames reports names of the template's own parts that differ in casing alone: these
// parts are found in any casing. Objects that are values may have such members.
func (s *scope) checkNames() {
	s.distinctNames(s.template)
	for _, part := range []string{"parameters", "variables", "outputs", "definitions"} {
		names := s.template.Member(part)
		s.distinctNames(names)
		if names == nil || part == "variables" {
			continue
		}
		for _, m := range names.Members {
			s.distinctNames(m.Node)
		}
	}
	if functions := s.template.Member("functions"); functions != nil {
		for _, namespace := range functions.Elements {
			s.distinctNames(namespace)
			s.distinctNames(namespace.Member("members"))
		}
	}
}

// distinctNames reports members of one object whose names differ in casing alone.
func (s *scope) distinctNames(n *document.Node) {
	for _, fault := range n.Alike(Code) {
		s.report(place{n, 0, fault.Message}, func(p place) *document.Fault {
			fault.Message = p.message
			return fault
		})
	}
}
