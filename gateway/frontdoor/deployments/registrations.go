package deployments

import (
	"context"
	"errors"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/jobs/deploy"
	"portico/template"
)

// checkRegistrations refuses a deployment if its caller may not register a subscription
// for the namespace of a resource that is known to be sent, unless the validation level
// excludes rights to write. A deployment registers missing namespaces itself.
func (d Orders) checkRegistrations(ctx context.Context, x *exchange.Exchange, name string, planned []*template.Resource, level string) error {
	if level == levelTemplate || level == levelProviderNoRBAC {
		return nil
	}
	var refusals []arm.Error
	registrations := deploy.Registrations{Map: d.Locations.Map, Store: d.Locations.Store}
	checked := map[string]bool{}
	for _, p := range planned {
		namespace, _, _ := strings.Cut(p.Type, "/")
		scope := "/subscriptions/" + p.Scope.Subscription
		id := scope + "/providers/" + namespace
		if !certainlySent(p) || checked[arm.Fold(id)] {
			continue
		}
		checked[arm.Fold(id)] = true
		missing, err := registrations.Missing(ctx, p.Scope.Subscription, namespace)
		if err == nil && missing {
			err = d.May(ctx, x.Principal, namespace+"/register/action", scope)
		}
		if fault, refused := errors.AsType[*arm.Error](err); refused {
			refusals = append(refusals, arm.Error{Code: fault.Code, Message: fault.Message, Target: id})
		} else if err != nil {
			return err
		}
	}
	return invalidDeployment(name, refusals)
}
