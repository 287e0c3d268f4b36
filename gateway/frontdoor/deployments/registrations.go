package deployments

import (
	"context"
	"errors"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/template"
)

// checkRegistrations refuses a deployment of a name if its caller may not register a
// subscription for a namespace of what it is known to send, unless the validation level leaves
// rights to write out. A deployment registers what is missing itself.
func (d Orders) checkRegistrations(ctx context.Context, x *exchange.Exchange, name string, planned []*template.Resource, level string) error {
	if level == ofTemplate || level == withoutRbac {
		return nil
	}
	refusal := arm.NewError(arm.InvalidTemplateDeployment, name)
	checked := map[string]bool{}
	for _, p := range planned {
		namespace, _, _ := strings.Cut(p.Type, "/")
		id := "/subscriptions/" + p.Scope.Subscription + "/providers/" + namespace
		if !certain(p) || checked[arm.Fold(id)] {
			continue
		}
		checked[arm.Fold(id)] = true
		err := d.MayRegister(ctx, x.Principal, p.Scope.Subscription, namespace)
		fault, refused := errors.AsType[*arm.Error](err)
		if err != nil && !refused {
			return err
		}
		if refused {
			refusal.Details = append(refusal.Details, arm.Error{Code: fault.Code, Message: fault.Message, Target: id})
		}
	}
	if len(refusal.Details) > 0 {
		return refusal
	}
	return nil
}
