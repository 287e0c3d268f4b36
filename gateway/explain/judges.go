package explain

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/exchange"
	"portico/gateway/preflight"
	"portico/gateway/proxy"
	"portico/internal/schema"
	"portico/regions"
	"portico/routing"
)

// judges returns the verdicts on the body of an explained PUT if it were planned, up to the
// first refusal.
func (e *Explainer) judges(question Request, walked *Walked, gateways api.Verdict) (all []api.ExplainedJudge) {
	x := walked.Exchange
	if q := x.Request; question.content == "" || !walked.Read || q.Method != http.MethodPut || q.Class != routing.Instance || q.Type == nil {
		return nil
	}
	shape := refusedAtShape(gateways)
	if gateways.Outcome == api.Refused && !shape {
		return []api.ExplainedJudge{{Judge: api.GatewayJudges, Verdict: api.Refuses, Detail: gateways.Summary}}
	}
	all = append(all, api.ExplainedJudge{Judge: api.GatewayJudges, Verdict: api.Accepts}, e.shapeJudge(x.Request, question.content))
	if all[1].Verdict == api.Refuses {
		return all
	}
	return append(all, e.providerJudge(question, x))
}

// refusedAtShape reports whether a verdict comes from the check against the provider's
// documents.
func refusedAtShape(v api.Verdict) bool { return v.Step == string(exchange.AtShape) }

func (e *Explainer) shapeJudge(q *routing.Request, content string) api.ExplainedJudge {
	j := api.ExplainedJudge{Judge: api.ShapeJudges, Verdict: api.Skipped}
	switch {
	case q.Provider.Validation == regions.ValidateNever:
		j.Detail = "the provider has validation: off"
		return j
	case q.Type.Shape(q.Query.APIVersion) == nil:
		j.Detail = "the map has no document of this api-version (spec)"
		return j
	}
	j.Verdict, j.Detail = api.Accepts, "PUT requests are validated too"
	if q.Provider.Validation == regions.ValidatePlans {
		j.Detail = "only planned bodies are validated"
	}
	if fault := proxy.ShapeFault(q, []byte(content), schema.Planned); fault != nil {
		j.Verdict, j.Detail = api.Refuses, string(fault.Code)+": "+fault.Message+" ("+j.Detail+")"
	}
	return j
}

// providerJudge asks the provider, if the question allows that.
func (e *Explainer) providerJudge(question Request, x *exchange.Exchange) api.ExplainedJudge {
	j, q := api.ExplainedJudge{Judge: api.ProviderJudges, Verdict: api.Skipped}, x.Request
	switch {
	case !q.Type.Capabilities.Preflight:
		j.Detail = "it does not validate plans (capabilities: preflight)"
		return j
	case x.Trail.Decision == nil:
		j.Detail = "the region of the resource is not known"
		return j
	case !question.askProviders:
		j.Detail = "--ask asks it"
		return j
	}
	planned := &preflight.Resource{ID: q.ID(), APIVersion: q.Query.APIVersion, Type: q.Type.FullName, Name: namesIn(q.Path.LastHop()), Body: []byte(question.content)}
	j.Verdict, j.Detail = api.Accepts, "it does not refuse"
	if fault := e.Preflight.ProviderFault(question.Request, x, planned, preflight.Verdict{Request: q, Decision: x.Trail.Decision}); fault != nil {
		j.Verdict, j.Detail = api.Refuses, string(fault.Code)+": "+fault.Message
	}
	return j
}

// namesIn returns the names in a hop, such as "parent/child".
func namesIn(hop arm.Hop) string {
	var names []string
	for i := 1; i < hop.Len(); i += 2 {
		names = append(names, hop.Segment(i))
	}
	return strings.Join(names, "/")
}
