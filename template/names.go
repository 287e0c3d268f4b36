package template

import "portico/template/document"

// checkNames reports parameters, variables and the like whose names differ only in case: they are
// looked up without regard to case. Objects that are values may have such members.
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

// distinctNames reports members of an object whose names differ only in case.
func (s *scope) distinctNames(n *document.Node) {
	for _, fault := range n.NameClashes(Code) {
		s.report(faultKey{n, 0, fault.Message}, func(p faultKey) *document.Fault {
			fault.Message = p.message
			return fault
		})
	}
}
