// Package preflight judges planned resources before anything is created: would their PUTs be
// accepted? Clients send a plan in one call (validateResources).
//
// First the gateway's judge sends each PUT through the handlers of a request, with the
// caller's rights, and stops it before its provider is called. If the PUT passes, its body is
// checked against the provider's documents. Last, the provider is asked, if it judges plans.
// The first refusal of the three is the result. A missing resource group or parent is no
// reason to refuse, because the plan may create it. Neither is a value that is not known yet:
// the PUT is judged again when it is sent with the value (unknown.go). Nothing is written,
// and a caller learns no more than from the PUT.
package preflight

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/deployments"
	"portico/gateway/frontdoor/route"
	"portico/gateway/proxy"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
)

// Options are the dependencies of a Preflight.
type Options struct {
	Map *regions.Map
	// Rehearse returns the handlers for the PUTs of one call. They treat the resources in p as
	// existing.
	Rehearse func(p *PlannedResources, withoutWrite bool) Rehearsal
	Locks    *inventory.Locks
	// Charge charges the call for n reads in a subscription.
	Charge func(ctx context.Context, x *exchange.Exchange, subscription string, n int) error
	// Upstream calls the providers that judge planned resources. Timeout bounds all their calls
	// for one validateResources call together.
	Upstream proxy.Upstream
	Public   *url.URL
	Timeout  time.Duration
}

// Judge returns the gateway's verdict on a PUT of target. The error is a failure of Portico.
type Judge func(ctx context.Context, target string, content []byte) (Verdict, error)

// Verdict is the gateway's verdict on a PUT.
type Verdict struct {
	Fault   *arm.Error // the answer to the client; nil if the gateway does not refuse
	Request *routing.Request
	// Decision is the routing of the resource; nil if it is not known.
	Decision *routing.Decision
}

// Preflight answers validateResources.
type Preflight struct{ Options }

// New returns a Preflight.
func New(o Options) *Preflight { return &Preflight{o} }

// Routes implements frontdoor.Resource.
func (p *Preflight) Routes() []route.Route {
	return []route.Route{
		{
			Method: http.MethodPost, Path: "/providers/microsoft.resources/validateresources",
			Open: "each resource in it is asked about by itself", Handle: p.validate,
		},
	}
}

// validate judges the resources of a call in order, each as if the ones before it existed.
func (p *Preflight) validate(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	call, resources, fault := readCall(req.Content, p.extends)
	if fault != nil {
		return fault
	}
	if err := p.Charge(r.Context(), x, routing.SubscriptionOf(call.Scope), len(resources)); err != nil {
		return err
	}
	questions, err := p.judgeAll(r, x, resources, &PlannedResources{}, call.WithoutWrite)
	if err != nil {
		return err
	}
	denied := func(q question) bool { return q.Fault != nil && q.Fault.Code == arm.AuthorizationFailed }
	if !slices.ContainsFunc(questions, func(q question) bool { return !denied(q) }) {
		return arm.NewError(arm.AuthorizationFailed).WithMessage("%s", questions[0].Fault.Message)
	}
	return writeVerdicts(w, x, questions, p.askProviders(r, x, questions))
}

// mergeFaults returns one fault per question, the gateway's or else the provider's.
func mergeFaults(questions []question, faults []*arm.Error) []*arm.Error {
	for i, q := range questions {
		if q.Fault != nil {
			faults[i] = q.Fault
		}
	}
	return faults
}

// judgeAll returns the gateway's verdicts on all resources of a call.
func (p *Preflight) judgeAll(r *http.Request, x *exchange.Exchange, resources []Resource, plan *PlannedResources, withoutWrite bool) (questions []question, err error) {
	judge := p.newJudge(x, plan, withoutWrite)
	for i := range resources {
		planned := &resources[i]
		p.addLocation(planned)
		verdict, err := plan.judge(r.Context(), planned, judge)
		if err != nil {
			return nil, err
		}
		if verdict.Fault != nil && verdict.Fault.Code == arm.SubscriptionNotFound {
			return nil, verdict.Fault
		}
		questions = append(questions, question{planned, verdict, plan.unknown})
	}
	return questions, nil
}

// writeVerdicts answers a call with the gateway's verdicts and the providers' faults.
func writeVerdicts(w http.ResponseWriter, x *exchange.Exchange, verdicts []question, byProviders []*arm.Error) error {
	var passed []string
	var details []arm.Error
	byGateway := false
	for i, v := range verdicts {
		found := byProviders[i]
		if v.Fault != nil {
			found, byGateway = v.Fault, true
		}
		if found == nil {
			passed = append(passed, v.ID)
			continue
		}
		details = append(details, found.DetailOf(v.ID))
	}
	if len(details) == 0 {
		return x.Answer(w, http.StatusOK, validated{properties{passed}})
	}
	fault := arm.NewError(arm.ResourceValidationFailed, len(details), len(verdicts))
	fault.Details = details
	if byGateway {
		return fault
	}
	x.Cause = exchange.CauseService
	w.Header().Set("X-Ms-Failure-Cause", exchange.CauseService)
	return x.Answer(w, fault.Status, map[string]*arm.Error{"error": fault})
}

// extends reports whether resources of a type may be attached to other resources: extension
// types of providers, and types that no provider has. Of Microsoft.Resources, only tags are.
func (p *Preflight) extends(typeName string) bool {
	namespace, own, _ := strings.Cut(typeName, "/")
	first, _, _ := strings.Cut(own, "/")
	if t := p.Map.Type(namespace + "/" + first); t != nil {
		return t.Kind == regions.Extension
	}
	return !arm.EqualFold(namespace, "Microsoft.Resources") || arm.EqualFold(typeName, tagsType)
}

// addLocation adds the call's location to the body of a resource that needs one and has none.
func (p *Preflight) addLocation(r *Resource) {
	t := p.Map.Type(r.Type)
	if t != nil && t.Kind == regions.Tracked && t.Parent == nil || arm.EqualFold(r.Type, groupType) {
		r.Body = withLocation(r.Body, r.Location)
	}
}

// validated is the answer for resources that pass every judge.
type validated struct {
	Properties properties `json:"properties"`
}

type properties struct {
	Resources []string `json:"validatedResources"`
}

// Faults returns a fault per resource of a deployment, of the gateway or its provider, nil if
// neither refuses it. Each resource is judged as if the ones before it, and the registrations
// that deployments create, existed. The caller is charged one read per resource. Faults is a
// [deployments.Checker].
func (p *Preflight) Faults(r *http.Request, x *exchange.Exchange, subscription string, sent []deployments.Sent, withoutWrite bool) ([]*arm.Error, error) {
	if err := p.Charge(r.Context(), x, subscription, len(sent)); err != nil {
		return nil, err
	}
	questions, err := p.judgeAll(r, x, plannedOf(sent), &PlannedResources{registers: true}, withoutWrite)
	if err != nil {
		return nil, err
	}
	return mergeFaults(questions, p.askProviders(r, x, questions)), nil
}

// GatewayFaults is like Faults, but calls no provider, charges nothing, and lets the deployment
// wait for the end of a region's maintenance.
func (p *Preflight) GatewayFaults(r *http.Request, x *exchange.Exchange, _ string, sent []deployments.Sent, withoutWrite bool) ([]*arm.Error, error) {
	questions, err := p.judgeAll(r, x, plannedOf(sent), &PlannedResources{registers: true}, withoutWrite)
	if err != nil {
		return nil, err
	}
	faults := mergeFaults(questions, make([]*arm.Error, len(questions)))
	for i, fault := range faults {
		if fault != nil && fault.Code == arm.LocationUnderMaintenance {
			faults[i] = nil
		}
	}
	return faults, nil
}

// plannedOf converts the resources that a template would send.
func plannedOf(sent []deployments.Sent) (planned []Resource) {
	for _, s := range sent {
		planned = append(planned, Resource{ID: s.ID, Path: s.Path, Type: s.Type, Name: s.Name, APIVersion: s.APIVersion, Body: s.Body, Nested: s.Nested})
	}
	return planned
}
