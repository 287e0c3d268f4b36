package deployments

import (
	"net/http"
	"slices"
	"time"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/jobs/deploy"
)

// validated is the answer for a deployment that passes every check.
type validated struct {
	ID         string              `json:"id"`
	Name       string              `json:"name"`
	Type       string              `json:"type"`
	Location   string              `json:"location,omitempty"`
	Properties validatedProperties `json:"properties"`
}

type validatedProperties struct {
	Mode              string                      `json:"mode"`
	ProvisioningState string                      `json:"provisioningState"`
	Timestamp         time.Time                   `json:"timestamp"`
	Duration          string                      `json:"duration"`
	CorrelationID     string                      `json:"correlationId"`
	Parameters        map[string]deploy.Parameter `json:"parameters"`
	Resources         []deploy.Reference          `json:"validatedResources"`
	deploy.Settings
}

// validate expands a template, and checks each resource that it would send, as if the
// ones before it existed.
func (d WhatIf) validate(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	proposed, err := d.plan(r, x, req)
	if err != nil {
		return err
	}
	sent, until := resourcesSent(proposed.Resources), time.Now().Add(d.Reading)
	judged := slices.DeleteFunc(append(nestedSent(proposed.Nested()), sent...), func(s Sent) bool {
		return s.OnlyIfNotExists && (time.Now().After(until) || d.exists(r, x, s))
	})
	if err := d.Judge.check(r, x, proposed.order.Scope, proposed.order.Name, judged, proposed.order.ValidationLevel); err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, proposed.answer(x, sent))
}

// exists reports whether the caller can read a resource.
func (d WhatIf) exists(r *http.Request, x *exchange.Exchange, s Sent) bool {
	_, there, _ := d.read(r, x, s.ID, s.APIVersion)
	return there
}

func (p *proposal) answer(x *exchange.Exchange, sent []Sent) validated {
	a := validated{
		ID: p.order.ID(), Name: p.order.Name, Type: "Microsoft.Resources/deployments", Location: p.content.Location,
		Properties: validatedProperties{
			Mode: "Incremental", ProvisioningState: "Succeeded", Timestamp: p.order.Now, Duration: "PT0S", CorrelationID: x.Identity.Correlation,
			Parameters: p.record.Properties.Parameters, Resources: []deploy.Reference{}, Settings: p.order.Settings,
		},
	}
	if p.order.Complete {
		a.Properties.Mode = "Complete"
	}
	for _, s := range sent {
		a.Properties.Resources = append(a.Properties.Resources, deploy.Reference{ID: s.ID})
	}
	return a
}
