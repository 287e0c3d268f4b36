package access

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/tracing"
)

// Principal is an authenticated caller.
type Principal struct {
	// TenantID is the caller's tenant. A principal with neither TenantID nor AnyTenant
	// sees nothing.
	TenantID string
	ObjectID string
	// AnyTenant marks the only principal that exists without authentication:
	// it belongs to every tenant, and has no TenantID.
	AnyTenant bool `json:",omitempty"`
	// Name is the caller's display name, such as a user principal name.
	Name string
	// AppID is the calling application; "" for a user without a known one.
	AppID string
	// Credential distinguishes the credentials of one principal, and reveals
	// nothing else about them. It is "" if there are none, or if the
	// principal's own is not known.
	Credential string `json:",omitempty"`
	// Issuer is the issuer of the caller's token, "" for another credential.
	Issuer string `json:",omitempty"`
	// Delegated reports whether the application AppID acts for a user.
	Delegated bool `json:",omitempty"`
	// Groups are the caller's groups.
	Groups Groups `json:",omitempty"`
	// ByRoles limits the caller to the actions that its roles allow.
	ByRoles bool `json:",omitempty"`
	// Expires is when the credential expires, in seconds since 1970; 0: never.
	Expires int64 `json:",omitempty"`

	caller string // cached result of Caller, "" if none
}

// expired reports whether the principal's credential is no longer accepted.
func (p *Principal) expired(now time.Time) bool { return p.Expires != 0 && now.Unix() >= p.Expires }

// WithoutExpiry returns p as the caller of work that may outlast its credential:
// an expired credential does not end it.
func (p Principal) WithoutExpiry(now time.Time) Principal {
	if p.expired(now) {
		p.Expires = 0
	}
	return p
}

// same reports whether p and another principal are the same, regardless of names.
func (p Principal) same(other Principal) bool {
	return p.AnyTenant == other.AnyTenant && arm.EqualFold(p.TenantID, other.TenantID) && p.ObjectID == other.ObjectID && p.AppID == other.AppID
}

// CanSee reports whether p may see subscriptions of tenant. For p,
// subscriptions of other tenants do not exist.
func (p Principal) CanSee(tenant string) bool {
	return p.AnyTenant || p.TenantID != "" && arm.EqualFold(p.TenantID, tenant)
}

// Caller returns a unique key of the principal, for budgets per caller. It
// must not be logged.
func (p Principal) Caller() string {
	if p.caller != "" {
		return p.caller
	}
	return arm.Fold(p.TenantID) + " " + p.ObjectID
}

// In returns p as it acts in tenant: the principal of every tenant gets the
// tenant of the subscription that it calls.
func (p Principal) In(tenant string) Principal {
	if p.AnyTenant {
		p.TenantID, p.AnyTenant, p.caller = tenant, false, ""
	}
	return p
}

// UnmarshalJSON reads a principal from a stored payload. In older payloads,
// the principal of every tenant is its object id without a tenant.
func (p *Principal) UnmarshalJSON(text []byte) error {
	type stored Principal
	if err := json.Unmarshal(text, (*stored)(p)); err != nil {
		return err
	}
	p.AnyTenant = p.AnyTenant || p.TenantID == "" && p.ObjectID == anyone
	return nil
}

// Kind returns the type of identity in systemData.
func (p Principal) Kind() string {
	if p.AppID != "" && !p.Delegated {
		return "Application"
	}
	return "User"
}

// UserPrincipalName returns the name by which a user signs in; "" for an application,
// and if it is not known: an issuer's token may have only a display name.
func (p Principal) UserPrincipalName() string {
	if p.Kind() != "User" || p.Issuer != "" && !strings.Contains(p.Name, "@") {
		return ""
	}
	return p.Name
}

// Signature returns the name under which systemData records the caller.
func (p Principal) Signature() string {
	if p.Name != "" {
		return p.Name
	}
	return p.ObjectID
}

// Stamps returns the caller's identity for calls to providers.
func (p *Principal) Stamps() tracing.Stamps {
	return tracing.Stamps{
		TenantID: p.TenantID, ObjectID: p.ObjectID, PrincipalName: p.Name, AppID: p.AppID, Issuer: p.Issuer,
		AuthorizationSource: p.AuthorizationSource(),
	}
}

// Stamp writes only the caller's identity onto a call to a provider.
func (p Principal) Stamp(h tracing.Setter) {
	stamps := p.Stamps()
	stamps.Set(h)
}

// AuthorizationSource returns ARM's name for the source of the caller's permissions.
func (p Principal) AuthorizationSource() string {
	if p.ByRoles {
		return "RoleBased"
	}
	return "Bypassed"
}

// Groups are the object ids of groups, in lower case, sorted and separated by spaces. A
// string can be compared, and copying a principal does not allocate.
type Groups string

// GroupsOf returns the groups with these ids, without texts that are not GUIDs.
func GroupsOf(ids []string) Groups {
	var valid []string
	for _, id := range ids {
		if arm.ValidGUID(id) {
			valid = append(valid, strings.ToLower(id))
		}
	}
	slices.Sort(valid)
	return Groups(strings.Join(slices.Compact(valid), " "))
}

// All returns the ids.
func (g Groups) All() iter.Seq[string] { return strings.FieldsSeq(string(g)) }

// LastModified returns the system data for Portico's own change or deletion
// of a resource on behalf of p: the provider records the caller and the time
// (common headers, x-ms-arm-resource-system-data).
func (p Principal) LastModified(at time.Time) string {
	text, err := json.Marshal(map[string]string{
		"lastModifiedBy": p.Signature(), "lastModifiedByType": p.Kind(),
		"lastModifiedAt": at.UTC().Format("2006-01-02T15:04:05.0000000Z"),
	})
	if err != nil { // strings always have a JSON form
		return "{}"
	}
	return string(text)
}
