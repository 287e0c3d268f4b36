package proxy

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/schema"
	"portico/regions"
	"portico/routing"
)

// misshapen refuses a PUT whose body is not what the provider's documents say, where PUTs
// are held to them. Whoever judges a planned one judges its shape.
func (p *Proxy) misshapen(x *exchange.Exchange, d *Resolved) *arm.Error {
	q := x.Request
	if q.Method != http.MethodPut || x.Planned || q.Provider.Validation != regions.ValidateWrites {
		return nil
	}
	return Misshapen(q, d.content, schema.Literal)
}

// Misshapen returns the fault of a body of a PUT that is not what the provider's documents
// say; nil also if they say nothing of it.
func Misshapen(q *routing.Request, content []byte, mode schema.Mode) *arm.Error {
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
	return arm.NewError(arm.InvalidRequestContent, fault.Allowed+". Path '"+fault.Path+"'").About(fault.Path)
}
