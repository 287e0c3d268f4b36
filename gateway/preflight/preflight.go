// Package preflight judges planned resources before anything is made: would their PUTs be
// accepted? Clients ask for what they plan in one call (validateResources).
//
// The gateway's judge sends each PUT the way of a request of its own, with the caller's
// rights, and stops it before its provider is called; the package is given that way. A
// body that passes is held to the provider's documents, and then the provider is asked, if
// it judges plans. The first of the three that refuses ends a resource. A resource group, or
// a parent, that does not exist refuses nothing, because plans make them. Nor does a value
// that is not known yet: all three judge values, and the PUT is judged again when it has them
// (unknown.go). Nothing is written, and a caller learns no more than by the PUT.
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

// Options are what planned resources are judged with.
type Options struct {
	Map *regions.Map
	// Rehearse returns what rehearses the PUTs of one call, whose resources may exist once they
	// passed.
	Rehearse func(p *Plan, withoutWrite bool) Rehearsal
	Locks    *inventory.Locks
	// Charge charges the call for n reads in a subscription.
	Charge func(ctx context.Context, x *exchange.Exchange, subscription string, n int) error
	// Upstream calls the providers that judge planned resources themselves, all those of one
	// call within Timeout.
	Upstream proxy.Upstream
	Public   *url.URL
	Timeout  time.Duration
}

// Judge says what would become of the PUT of a target. The error is a failure to find out.
type Judge func(ctx context.Context, target string, content []byte) (Verdict, error)

// Verdict is the gateway's word on a PUT.
type Verdict struct {
	Fault   *arm.Error // its answer to the client; nil: it does not refuse
	Request *routing.Request
	// Decision is the routing of the resource; nil if it is not known.
	Decision *routing.Decision
}

// Preflight answers validateResources.
type Preflight struct{ Options }

// New returns what judges planned resources.
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

// validate judges the resources of a call in their order, each as if those before it had
// been made.
func (p *Preflight) validate(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	call, resources, fault := readCall(req.Content, p.extends)
	if fault != nil {
		return fault
	}
	if err := p.Charge(r.Context(), x, routing.SubscriptionOf(call.Scope), len(resources)); err != nil {
		return err
	}
	questions, err := p.judgeAll(r, x, resources, &Plan{}, call.WithoutWrite)
	if err != nil {
		return err
	}
	denied := func(q question) bool { return q.Fault != nil && q.Fault.Code == arm.AuthorizationFailed }
	if !slices.ContainsFunc(questions, func(q question) bool { return !denied(q) }) {
		return arm.NewError(arm.AuthorizationFailed).Saying("%s", questions[0].Fault.Message)
	}
	return answer(w, x, questions, p.askAll(r, x, questions))
}

// merged are the faults that providers found with those of the gateway, which win.
func merged(questions []question, faults []*arm.Error) []*arm.Error {
	for i, q := range questions {
		if q.Fault != nil {
			faults[i] = q.Fault
		}
	}
	return faults
}

// judgeAll lets the gateway judge all resources of a call.
func (p *Preflight) judgeAll(r *http.Request, x *exchange.Exchange, resources []Resource, plan *Plan, withoutWrite bool) (questions []question, err error) {
	judge := p.begin(x, plan, withoutWrite)
	for i := range resources {
		planned := &resources[i]
		p.locate(planned)
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

// answer answers a call by the verdicts of the gateway and the faults that providers found.
func answer(w http.ResponseWriter, x *exchange.Exchange, verdicts []question, theirs []*arm.Error) error {
	var passed []string
	var details []arm.Error
	byGateway := false
	for i, v := range verdicts {
		found := theirs[i]
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

// extends reports whether resources of a type may be attached to other resources: a
// provider's extensions, and all types that no provider has but those that lie in groups and
// subscriptions alone.
func (p *Preflight) extends(typeName string) bool {
	namespace, own, _ := strings.Cut(typeName, "/")
	first, _, _ := strings.Cut(own, "/")
	if t := p.Map.Type(namespace + "/" + first); t != nil {
		return t.Kind == regions.Extension
	}
	return !arm.EqualFold(namespace, "Microsoft.Resources") || arm.EqualFold(typeName, tagsType)
}

// locate puts the call's location into the body of a resource that has none but needs one.
func (p *Preflight) locate(r *Resource) {
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
