package access

import (
	"encoding/json"

	"portico/arm"
	"portico/tracing"
)

// Principal is an authenticated caller.
type Principal struct {
	// TenantID is the caller's tenant. Without one, and without AnyTenant, a
	// principal sees nothing.
	TenantID string
	ObjectID string
	// AnyTenant marks the one principal that exists without authentication: it
	// belongs to every tenant, and has no TenantID.
	AnyTenant bool `json:",omitempty"`
	// Name is what people know the caller by, such as a user principal name.
	Name string
	// AppID is the application that calls, "" for a user.
	AppID string
	// Credential tells apart the credentials of one principal, and nothing else of
	// them. It is "" where there are none, or it is not known by which one p came.
	Credential string `json:",omitempty"`

	caller string // as Caller returns it, if that is known
}

// same reports whether p is who another principal is, whatever people call them.
func (p Principal) same(other Principal) bool {
	return p.AnyTenant == other.AnyTenant && arm.EqualFold(p.TenantID, other.TenantID) && p.ObjectID == other.ObjectID && p.AppID == other.AppID
}

// CanSee reports whether a subscription of tenant exists at all for p.
// Subscriptions of other tenants are as if they were not there.
func (p Principal) CanSee(tenant string) bool {
	return p.AnyTenant || p.TenantID != "" && arm.EqualFold(p.TenantID, tenant)
}

// Caller tells the principal from all others, for whoever shares something out among
// callers. It is not for logs.
func (p Principal) Caller() string {
	if p.caller != "" {
		return p.caller
	}
	return arm.Fold(p.TenantID) + " " + p.ObjectID
}

// In returns p as it acts in tenant: the principal of every tenant takes that
// of the subscription it calls.
func (p Principal) In(tenant string) Principal {
	if p.AnyTenant {
		p.TenantID, p.AnyTenant, p.caller = tenant, false, ""
	}
	return p
}

// UnmarshalJSON reads a principal that durable work has kept. The one of every
// tenant was once stored by its object id and without a tenant alone.
func (p *Principal) UnmarshalJSON(text []byte) error {
	type stored Principal
	if err := json.Unmarshal(text, (*stored)(p)); err != nil {
		return err
	}
	p.AnyTenant = p.AnyTenant || p.TenantID == "" && p.ObjectID == anyone
	return nil
}

// Kind returns the type of identity as systemData names it.
func (p Principal) Kind() string {
	if p.AppID != "" {
		return "Application"
	}
	return "User"
}

// Signature returns the name under which systemData records the caller.
func (p Principal) Signature() string {
	if p.Name != "" {
		return p.Name
	}
	return p.ObjectID
}

// Stamp writes the caller's identity onto a call to a provider, in the headers
// that the contract keeps for it. They must have been stripped before.
func (p Principal) Stamp(h tracing.Setter) {
	for _, stamp := range [...]struct{ name, value string }{
		{"X-Ms-Client-Tenant-Id", p.TenantID},
		{"X-Ms-Home-Tenant-Id", p.TenantID},
		{"X-Ms-Client-Object-Id", p.ObjectID},
		{"X-Ms-Client-Principal-Id", p.ObjectID},
		{"X-Ms-Client-Principal-Name", p.Name},
		{"X-Ms-Client-App-Id", p.AppID},
	} {
		if stamp.value != "" {
			h.Set(stamp.name, stamp.value)
		}
	}
	// No role is looked at yet: whoever is authenticated may act.
	h.Set("X-Ms-Client-Authorization-Source", "Bypassed")
}
