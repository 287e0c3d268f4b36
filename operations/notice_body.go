package operations

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
)

// platformNamespace is the one whose features every provider is told of.
const platformNamespace = "Microsoft.Resources"

// notice is what a provider is told of a subscription (subscription lifecycle,
// Request Body).
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

// accountOwner has no content: nobody owns accounts here.
type accountOwner struct {
	PUID  string `json:"puid"`
	Email string `json:"email"`
}

type registeredFeature struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// additionalProperties tell which of the namespaces of an endpoint is meant.
type additionalProperties struct {
	ResourceProvider struct {
		Namespace string `json:"resourceProviderNamespace"`
	} `json:"resourceProviderProperties"`
}

// noticeState is the state of a subscription as a provider knows it, which asks
// for a registration or not (subscription lifecycle, Subscription States).
func noticeState(known inventory.Announcement, required bool) string {
	switch state := known.Subscription.State; {
	case state == inventory.Deleted:
		return "Deleted"
	case required && !known.Registration.State.Permits():
		return "Unregistered"
	case state == inventory.Warned:
		return "Warned"
	case state == inventory.Disabled:
		return "Suspended"
	}
	return "Registered"
}

func noticeBody(known inventory.Announcement, state, namespace string) []byte {
	sub := known.Subscription
	n := notice{State: state, RegistrationDate: registrationDate(known).UTC().Format(http.TimeFormat)}
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

// registrationDate is when the namespace was registered; of one that needs none,
// or never was, when the subscription was made.
func registrationDate(known inventory.Announcement) time.Time {
	if known.Registration.Registered.IsZero() {
		return known.Subscription.Created
	}
	return known.Registration.Registered
}
