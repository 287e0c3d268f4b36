package secret

import (
	"portico/arm"
	"portico/template"
	"portico/template/document"
)

// Error returns an error with its secrets hidden, cut to [arm.ErrorBytes]. It hides before it
// cuts, as it would not recognize a part of a secret.
func (s Secrets) Error(fault *arm.Error) *arm.Error {
	switch {
	case fault == nil:
		return nil
	case s.unknown:
		return fault.Withheld("The provider's words are not shown: they may hold a secret, and it is not known any more which texts are secrets.")
	}
	hidden := s.hidden(*fault)
	return hidden.Within(arm.ErrorBytes)
}

func (s Secrets) hidden(fault arm.Error) arm.Error {
	hidden := fault
	hidden.Code, hidden.Message, hidden.Target = arm.Code(s.Text(string(fault.Code))), s.Text(fault.Message), s.Text(fault.Target)
	hidden.AdditionalInfo, hidden.Further, hidden.Details = s.members(fault.AdditionalInfo), s.members(fault.Further), nil
	for _, detail := range fault.Details {
		hidden.Details = append(hidden.Details, s.hidden(detail))
	}
	return hidden
}

// members hides the secrets in members, and leaves out those that cannot be read.
func (s Secrets) members(of []arm.AdditionalInfo) (hidden []arm.AdditionalInfo) {
	for _, m := range of {
		if d, faults := document.Read(m.Info, document.Strict, template.Code); len(faults) == 0 {
			hidden = append(hidden, arm.AdditionalInfo{Type: s.Text(m.Type), Info: s.Value(d.Root.Value).AppendJSON(nil)})
		}
	}
	return hidden
}

// Faults hides the secrets in faults of a template.
func (s Secrets) Faults(of []*document.Fault) {
	for _, f := range of {
		f.Message, f.Path = s.Text(f.Message), s.Text(f.Path)
	}
}
