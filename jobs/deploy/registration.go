package deploy

import (
	"context"
	"net/http"
	"strings"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs/deploy/deployplan"
	"portico/regions"
	"portico/template"
	"portico/template/expr"
)

// registerFirst registers the namespaces that are known before the first step. It ends at the
// first failure: each step registers its own namespace if necessary, and reports the error.
func (a *attempt) registerFirst(ctx context.Context) {
	for _, of := range a.steps {
		r := of.resource
		if r == nil || r.Existing || !r.Condition.Is(expr.Bool) || a.job.State == jobrow.Cancelling {
			continue
		}
		if !a.ensureRegistered(ctx, &settled{task: task{step: of}}, r) {
			return
		}
	}
}

// ensureRegistered registers the subscription of a resource for its namespace, as the deployment's
// caller, and reports whether the resource can be sent. If not, it sets the step's outcome.
// Registering twice is harmless, so other steps and takeovers may do it as well.
func (a *attempt) ensureRegistered(ctx context.Context, s *settled, r *template.Resource) bool {
	namespace, _, _ := strings.Cut(r.Type, "/")
	of := arm.Fold(r.Scope.Subscription + " " + namespace)
	if _, known := a.registrations.Load(of); known {
		return true
	}
	var answer Response
	missing, err := a.Unregistered(ctx, r.Scope.Subscription, namespace)
	if err == nil && missing {
		calling, cancel := context.WithTimeout(ctx, a.CallLimit)
		defer cancel()
		answer, err = a.call(calling, Call{
			Method: http.MethodPost, Target: "/subscriptions/" + r.Scope.Subscription + "/providers/" + namespace + "/register?api-version=2021-04-01",
		})
	}
	if err == nil && answer.Status < http.StatusMultipleChoices {
		a.registrations.Store(of, true)
		return true
	}
	if s.outcome = deployplan.Transient; err == nil {
		s.record.Began, s.record.Status = a.Store.Now(), answer.Status
		s.step.recordTarget(&s.record)
		s.onErrorResponse(answer)
	}
	return false
}

// Registrations reads the registrations of subscriptions for the providers in a map.
type Registrations struct {
	Map   *regions.Map
	Store *inventory.Store
}

// Missing reports whether a subscription must yet be registered for a namespace.
func (r Registrations) Missing(ctx context.Context, subscription, namespace string) (bool, error) {
	p := r.Map.Provider(namespace)
	if p == nil || p.Registration != regions.Required {
		return false, nil
	}
	registration, err := r.Store.Registration(ctx, subscription, p.Key)
	return err == nil && !registration.State.Permits(), err
}
