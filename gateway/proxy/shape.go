package proxy

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/schema"
	"portico/regions"
	"portico/routing"
)

// checkShape refuses a PUT whose body contradicts the provider's documents, if the
// provider is configured for that. Planned PUTs are checked by their planner.
func (p *Proxy) checkShape(x *exchange.Exchange, d *Resolved) *arm.Error {
	q := x.Request
	if q.Method != http.MethodPut || x.Planned || q.Provider.Validation != regions.ValidateWrites {
		return nil
	}
	return ShapeFault(q, d.content, schema.Literal)
}

// ShapeFault returns the fault of a PUT's body that contradicts the provider's documents;
// nil if it does not, or if they do not describe it.
func ShapeFault(q *routing.Request, content []byte, mode schema.Mode) *arm.Error {
	if q.Type == nil || q.Provider.Validation == regions.ValidateNever {
		return nil
	}
	shape := q.Type.Shape(q.Query.APIVersion)
	if shape == nil {
		return nil
	}
	fault := shape.Check(content, mode)
	if fault == nil {
		return nil
	}
	return arm.NewError(arm.InvalidRequestContent, fault.Allowed+". Path '"+fault.Path+"'").WithTarget(fault.Path)
}
