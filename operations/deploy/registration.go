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

// registrationVersion is the api-version by which namespaces are registered.
const registrationVersion = "2021-04-01"

// namespaceOf is a namespace in a subscription, both folded.
type namespaceOf struct{ subscription, namespace string }

func registeredFor(r *template.Resource) namespaceOf {
	namespace, _, _ := strings.Cut(r.Type, "/")
	return namespaceOf{arm.Fold(r.Scope.Subscription), arm.Fold(namespace)}
}

// registerFirst registers the namespaces that are known before the first step. One that is
// refused is refused again at the steps that need it, as their error.
func (a *attempt) registerFirst(ctx context.Context) {
	if a.job.State == jobrow.Cancelling {
		return
	}
	tried := map[namespaceOf]bool{}
	for i := range a.steps {
		r := a.steps[i].resource
		if r == nil || r.Existing || !r.Condition.Is(expr.Bool) || a.plan.Steps[i].State.Over() {
			continue
		}
		if of := registeredFor(r); !tried[of] {
			tried[of] = true
			_, _ = a.register(ctx, r)
		}
	}
}

// register registers a resource's subscription for its namespace, as the deployment's caller;
// the answer is that to the request, or none if it need not be registered. To register anew
// what another step registers meanwhile changes nothing.
func (a *attempt) register(ctx context.Context, r *template.Resource) (answer Answer, err error) {
	of := registeredFor(r)
	if _, known := a.registrations.Load(of); known {
		return answer, nil
	}
	path, err := a.Registration(ctx, r.Scope.Subscription, r.Type)
	if err == nil && path != "" {
		calling, cancel := context.WithTimeout(ctx, a.CallLimit)
		defer cancel()
		answer, err = a.call(calling, Call{Method: http.MethodPost, Target: path + "?api-version=" + registrationVersion})
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
