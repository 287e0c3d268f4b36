package deploy

import (
	"fmt"

	"portico/arm"
	"portico/template/document"
)

// Refusal returns the error that refuses a deployment for faults of its template. It has the
// message of the first one; if there are several, each is a detail.
func Refusal(faults []*document.Fault) *arm.Error {
	refusal := faultAt(faults[0])
	if len(faults) > 1 {
		for _, f := range faults {
			refusal.Details = append(refusal.Details, *faultAt(f))
		}
	}
	return refusal
}

func faultAt(f *document.Fault) *arm.Error {
	return arm.NewError(arm.InvalidTemplate, fmt.Sprintf("%s. Path '%s', line %d, column %d", f.Message, f.Path, f.Line, f.Column)).WithTarget(f.Path)
}
