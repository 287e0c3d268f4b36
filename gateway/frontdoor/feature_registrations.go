package frontdoor

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
)

const featureRegistrationType = "Microsoft.Features/featureProviders/subscriptionFeatureRegistrations"

// featureRegistrationBody is a subscription's registration for a feature, as newer
// clients see it: a resource that is created and deleted.
type featureRegistrationBody struct {
	ID         string                        `json:"id"`
	Name       string                        `json:"name"`
	Type       string                        `json:"type"`
	Properties featureRegistrationProperties `json:"properties"`
}

type featureRegistrationProperties struct {
	TenantID          string `json:"tenantId"`
	SubscriptionID    string `json:"subscriptionId"`
	ProviderNamespace string `json:"providerNamespace"`
	FeatureName       string `json:"featureName"`
	State             string `json:"state"`
	ApprovalType      string `json:"approvalType"`
}

func featureRegistrationOf(s inventory.Subscription, full string) featureRegistrationBody {
	namespace, name, _ := arm.CutFeature(full)
	return featureRegistrationBody{
		ID:   "/subscriptions/" + s.ID + "/providers/Microsoft.Features/featureProviders/" + namespace + "/subscriptionFeatureRegistrations/" + name,
		Name: name, Type: featureRegistrationType,
		Properties: featureRegistrationProperties{s.TenantID, s.ID, namespace, name, inventory.Registered.String(), "AutoApproval"},
	}
}

func (g features) listRegistrations(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	all, err := g.featureNames(x, req.Subscription)
	if err != nil {
		return err
	}
	l := exchange.List{Value: []any{}}
	for _, full := range all {
		if req.Subscription.HasFeature(full) {
			l.Value = append(l.Value, featureRegistrationOf(req.Subscription, full))
		}
	}
	return x.Answer(w, http.StatusOK, l)
}

func (g features) getRegistration(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	_, full, err := g.findFeature(x, req.Subscription)
	if err != nil {
		return err
	}
	if !req.Subscription.HasFeature(full) {
		return arm.NewError(arm.FeatureNotFound).WithMessage("The subscription is not registered for the feature '%s'.", full).WithTarget("featureName")
	}
	return x.Answer(w, http.StatusOK, featureRegistrationOf(req.Subscription, full))
}

// putRegistration registers for a feature. It answers 200 also to a new registration:
// clients accept nothing else.
func (g features) putRegistration(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, full, err := g.findFeature(x, req.Subscription)
	if err != nil {
		return err
	}
	if fault := checkFeatureRegistration(req.Content, featureRegistrationOf(req.Subscription, full)); fault != nil {
		return fault
	}
	changed, err := g.change(r.Context(), x, req.Subscription, p, full, true)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, featureRegistrationOf(changed, full))
}

// checkFeatureRegistration refuses content, if there is any, that differs from the
// registration.
func checkFeatureRegistration(content []byte, want featureRegistrationBody) *arm.Error {
	var sent featureRegistrationBody
	if len(content) == 0 {
		return nil
	}
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		return fault
	}
	if state := sent.Properties.State; state != "" && !arm.EqualFold(state, want.Properties.State) {
		return arm.NewError(arm.InvalidRequestContent, "A registration begins as "+want.Properties.State+". Path 'properties.state'").WithTarget("properties.state")
	}
	return route.Names{ID: sent.ID, Name: sent.Name, Type: sent.Type}.Check(route.Names{ID: want.ID, Name: want.Name, Type: want.Type})
}

func (g features) deleteRegistration(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, full, err := g.findFeature(x, req.Subscription)
	if err != nil {
		return err
	}
	if !req.Subscription.HasFeature(full) {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	if _, err := g.change(r.Context(), x, req.Subscription, p, full, false); err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, nil)
}
