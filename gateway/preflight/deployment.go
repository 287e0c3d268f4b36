package preflight

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/deployments"
)

// Faults are the refusals of a deployment's resources in their order, by the gateway or by
// their providers, each as if those before it existed, and all that deployments register; nil:
// no judge refuses it. The call is charged with one read in the subscription for each resource.
// It is a [deployments.Judge].
func (p *Preflight) Faults(r *http.Request, x *exchange.Exchange, subscription string, sent []deployments.Sent, withoutWrite bool) ([]*arm.Error, error) {
	if err := p.Charge(r.Context(), x, subscription, len(sent)); err != nil {
		return nil, err
	}
	questions, err := p.judgeAll(r, x, plannedOf(sent), &Plan{registers: true}, withoutWrite)
	if err != nil {
		return nil, err
	}
	return merged(questions, p.askAll(r, x, questions)), nil
}

// GatewayFaults are Faults without those that providers find. It calls no provider and
// charges nothing.
func (p *Preflight) GatewayFaults(r *http.Request, x *exchange.Exchange, _ string, sent []deployments.Sent, withoutWrite bool) ([]*arm.Error, error) {
	questions, err := p.judgeAll(r, x, plannedOf(sent), &Plan{registers: true}, withoutWrite)
	if err != nil {
		return nil, err
	}
	return merged(questions, make([]*arm.Error, len(questions))), nil
}

// plannedOf are resources that a template would send, as plans have them.
func plannedOf(sent []deployments.Sent) (planned []Resource) {
	for _, s := range sent {
		planned = append(planned, Resource{ID: s.ID, Path: s.Path, Type: s.Type, Name: s.Name, APIVersion: s.APIVersion, Body: s.Body, Nested: s.Nested})
	}
	return planned
}
