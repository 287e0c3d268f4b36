package config

import (
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// Subscription is a subscription that the configuration declares. State is Enabled, PastDue,
// Warned, Disabled or Deleted. Covered means that it had no resources before the gateway was
// installed.
type Subscription struct {
	ID          string
	TenantID    string
	DisplayName string
	State       string
	Covered     bool
	OfferID     string
	PlacementID string
	Features    []string // "Namespace/name"
}

func subscriptionRows(r *files.Reader, all *[]Subscription) *setting.Setting {
	ids := r.Unique("subscription")
	return setting.Mappings("subscriptions", "Subscriptions that exist from the first start. The admin listener creates others, and can change "+
		"these.",
		(*Subscription).rows,
		func(o *setting.Object, s Subscription) {
			if s.DisplayName == "" {
				s.DisplayName = s.ID
			}
			if id := o.Valid("id"); id != nil && ids.Add(id, s.ID, s.ID) {
				*all = append(*all, s)
			}
		}).Default("none")
}

func (s *Subscription) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Required("id", &s.ID, rule.GUID(), "The subscription's id."),
		setting.Required("tenantId", &s.TenantID, rule.GUID(), "The subscription's tenant."),
		setting.Value("displayName", &s.DisplayName, rule.Text(), "", "The display name.").Default("the id"),
		setting.Value("state", &s.State, rule.OneOf("Enabled", "PastDue", "Warned", "Disabled", "Deleted"), "Enabled",
			"Enabled and PastDue subscriptions accept all calls, Warned and Disabled ones only GET, HEAD and DELETE. A Deleted one is answered "+
				"with 404."),
		setting.Value("covered", &s.Covered, rule.Bool(), false,
			"`true`: the subscription had no resources before the gateway was installed. Otherwise it is compared with the providers once, and "+
				"its resources are looked up there until then."),
		setting.Value("offerId", &s.OfferID, rule.Text(), "", "The offer, which is sent to providers as the subscription's `quotaId`."),
		setting.Value("locationPlacementId", &s.PlacementID, rule.Text(), "",
			"Information for providers about where the subscription's resources may be placed. Resources can only be moved between subscriptions "+
				"of the same placement."),
		setting.List("registeredFeatures", rule.FullFeatureName(), "Features, `Namespace/name`, that are registered from the start.",
			func(_ *yamltree.Node, f string) { s.Features = append(s.Features, f) }).ShortPath().Default("none"),
	}
}
