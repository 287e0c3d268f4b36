package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Announce notifies each of a provider's endpoints of the target's subscription, once
// for each namespace, as a front door does before its first call. It returns the
// refusals; the error names an endpoint that does not answer at all.
func Announce(ctx context.Context, target Target) (refusals []string, err error) {
	a := target.Adapter
	if a.Through {
		return nil, nil
	}
	for _, region := range slices.Sorted(maps.Keys(a.endpoints)) {
		for _, p := range target.Description.Providers {
			body, err := json.Marshal(registered(a.identities[Owner].TenantID, p.Namespace))
			if err != nil {
				return nil, err
			}
			got, err := target.sendBounded(ctx, call{
				method: http.MethodPut, target: "/subscriptions/" + a.Subscription + "?api-version=2.0", region: region, body: body,
			})
			if err != nil {
				return nil, fmt.Errorf("the endpoint of %s: %w", region, err)
			}
			if got.Status >= http.StatusMultipleChoices {
				refusals = append(refusals, fmt.Sprintf("%s refuses the notice of the subscription: %s", region, a.showText(got.String())))
				break
			}
		}
	}
	return refusals, nil
}

// sendBounded makes a call outside of any scene, within the target's limit.
func (t Target) sendBounded(ctx context.Context, c call) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Limits.orDefault().Call)
	defer cancel()
	return t.Adapter.send(ctx, c)
}

// registered returns the notice of a registered subscription.
func registered(tenant, namespace string) Object {
	return Object{
		"state": "Registered", "registrationDate": time.Now().UTC().Format(http.TimeFormat),
		"properties": Object{
			"tenantId": tenant, "locationPlacementId": "", "quotaId": "", "accountOwner": Object{"puid": "", "email": ""},
			"registeredFeatures": []any{}, "managedByTenants": []any{},
			"additionalProperties": Object{"resourceProviderProperties": Object{"resourceProviderNamespace": namespace}},
		},
	}
}
