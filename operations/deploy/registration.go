package deploy

import (
	"context"
	"net/http"
	"strings"

	"portico/arm"
	"portico/inventory/jobrow"
	"portico/operations/deploy/plan"
	"portico/template"
	"portico/template/expr"
)

// registerFirst registers the namespaces that are known before the first step. A refusal ends
// it: the steps register what is missing then, and one that is refused has that as its error.
func (a *attempt) registerFirst(ctx context.Context) {
	for i := range a.steps {
		r := a.steps[i].resource
		if r == nil || r.Existing || !r.Condition.Is(expr.Bool) || a.job.State == jobrow.Cancelling {
			continue
		}
		if answer, err := a.register(ctx, r); err != nil || answer.Status >= http.StatusMultipleChoices {
			return
		}
	}
}

// register registers a resource's subscription for its namespace, as the deployment's caller.
// The answer is that to the request; without a status if none was needed. To register again
// changes nothing, so that neither other steps nor a takeover matter.
func (a *attempt) register(ctx context.Context, r *template.Resource) (answer Answer, err error) {
	namespace, _, _ := strings.Cut(r.Type, "/")
	of := arm.Fold(r.Scope.Subscription + " " + namespace)
	if _, known := a.registrations.Load(of); known {
		return answer, nil
	}
	q, err := a.Registering(ctx, r.Scope.Subscription, namespace)
	if err == nil && q != nil {
		calling, cancel := context.WithTimeout(ctx, a.CallLimit)
		defer cancel()
		answer, err = a.call(calling, Call{Method: q.Method, Target: q.Path.Escaped() + "?api-version=2021-04-01"})
	}
	if err == nil && answer.Status < http.StatusMultipleChoices {
		a.registrations.Store(of, true)
	}
	return answer, err
}

// registered reports whether a resource can be sent, as its namespace is registered; else it
// settles the step.
func (a *attempt) registered(ctx context.Context, s *settled, r *template.Resource) bool {
	answer, err := a.register(ctx, r)
	if err == nil && answer.Status < http.StatusMultipleChoices {
		return true
	}
	if s.outcome = plan.Transient; err == nil {
		s.record.Began, s.record.Status = a.Store.Now(), answer.Status
		s.record.Target, s.record.Within = new(s.step.reference()), s.step.within+1
		s.refused(answer)
	}
	return false
}
