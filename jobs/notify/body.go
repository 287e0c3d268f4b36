package notify

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
)

// platformNamespace is the namespace whose features every provider gets.
const platformNamespace = "Microsoft.Resources"

// notice is the content of a notification (subscription lifecycle, Request Body).
type notice struct {
	State            string           `json:"state"`
	RegistrationDate string           `json:"registrationDate"`
	Properties       noticeProperties `json:"properties"`
}

type noticeProperties struct {
	TenantID             string               `json:"tenantId"`
	LocationPlacementID  string               `json:"locationPlacementId"`
	QuotaID              string               `json:"quotaId"`
	AccountOwner         accountOwner         `json:"accountOwner"`
	RegisteredFeatures   []registeredFeature  `json:"registeredFeatures"`
	ManagedByTenants     []struct{}           `json:"managedByTenants"`
	AdditionalProperties additionalProperties `json:"additionalProperties"`
}

// accountOwner has no content, because accounts have no owners here.
type accountOwner struct {
	PUID  string `json:"puid"`
	Email string `json:"email"`
}

type registeredFeature struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// additionalProperties name the namespace, for an endpoint that serves several.
type additionalProperties struct {
	ResourceProvider struct {
		Namespace string `json:"resourceProviderNamespace"`
	} `json:"resourceProviderProperties"`
}

// noticeState returns the state of a subscription in the provider's words (subscription
// lifecycle, Subscription States). required: the provider requires a registration.
func noticeState(snapshot inventory.SubscriptionSnapshot, required bool) string {
	switch state := snapshot.Subscription.State; {
	case state == inventory.Deleted:
		return "Deleted"
	case required && !snapshot.Registration.State.Permits():
		return "Unregistered"
	case state == inventory.Warned:
		return "Warned"
	case state == inventory.Disabled:
		return "Suspended"
	}
	return "Registered"
}

func noticeBody(snapshot inventory.SubscriptionSnapshot, state, namespace string) []byte {
	sub := snapshot.Subscription
	n := notice{State: state, RegistrationDate: registrationDate(snapshot).UTC().Format(http.TimeFormat)}
	n.Properties = noticeProperties{
		TenantID: sub.TenantID, LocationPlacementID: sub.PlacementID, QuotaID: sub.OfferID,
		RegisteredFeatures: []registeredFeature{}, ManagedByTenants: []struct{}{},
	}
	for _, name := range sub.Features {
		if of, _, _ := strings.Cut(name, "/"); arm.EqualFold(of, namespace) || arm.EqualFold(of, platformNamespace) {
			n.Properties.RegisteredFeatures = append(n.Properties.RegisteredFeatures, registeredFeature{name, "Registered"})
		}
	}
	n.Properties.AdditionalProperties.ResourceProvider.Namespace = namespace
	text, err := json.Marshal(n)
	if err != nil { // strings always have a JSON form
		return []byte("{}")
	}
	return text
}

// registrationDate returns when the namespace was registered or, without a
// registration, when the subscription was created.
func registrationDate(snapshot inventory.SubscriptionSnapshot) time.Time {
	if snapshot.Registration.Registered.IsZero() {
		return snapshot.Subscription.Created
	}
	return snapshot.Registration.Registered
}
