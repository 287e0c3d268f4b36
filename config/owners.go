package config

import (
	"cmp"
	"slices"

	"portico/arm"
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// Values of Auth.Roles.
const (
	RolesEnforced = "enforced"
	RolesIgnored  = "ignored"
)

// Owner is a caller, or a group of callers, that may do everything in a scope without a role
// assignment. Without an owner, no caller could make the first assignment.
type Owner struct {
	TenantID    string // the principal is an owner only in this tenant
	PrincipalID string
	Scope       string // "/" for everything in the owner's tenant
}

func ownerRows(r *files.Reader, owners *[]Owner) *setting.Setting {
	seen := r.Unique("the owner")
	return setting.Mappings("owners", "Principals that may do everything without a role assignment, so that someone can make the first "+
		"assignments.", (*Owner).rows,
		func(o *setting.Object, owner Owner) {
			if o.Get("scope") != nil && o.Valid("scope") == nil {
				return
			}
			if at := o.Valid("principalId"); at != nil && seen.Add(at, owner.TenantID+" "+owner.PrincipalID+" "+arm.Fold(owner.Scope), owner.PrincipalID) {
				*owners = append(*owners, owner)
			}
		}).Default("none")
}

func (w *Owner) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Value("tenantId", &w.TenantID, rule.GUID(), "", "The tenant of the caller or group, which is an owner in no other tenant.").
			Default("the only tenant that is configured; required if subscriptions or issuers have several"),
		setting.Required("principalId", &w.PrincipalID, rule.GUID(), "The object id of a caller or of a group."),
		setting.Value("scope", &w.Scope, rule.Scope(), "/",
			"`/` for all subscriptions of the tenant, or the ID of a subscription, a group or a resource."),
	}
}

// checkOwners reports owners without authentication, and owners with an ambiguous tenant. It warns
// if no caller could do anything, not even assign roles.
func checkOwners(auth *setting.Object, c *Config) {
	at, a := auth.Get("owners"), &c.Auth
	c.setTenants(auth, at)
	switch {
	case listGiven(at) && a.Mode == AuthNone:
		auth.Fault(at, "auth.owners are given, but auth.mode is none", "issuers, clientCertificates or tokens; or no owners")
	case auth.Broken || !a.RolesEnforced() || listGiven(at) && (len(a.Owners) == 0 || len(a.Issuers) > 0 || slices.ContainsFunc(a.Owners, a.listsCaller)):
	case listGiven(at):
		auth.Warn(at, "auth.owners names no configured caller: unless roles were assigned before, every request is refused",
			"the objectId of one of auth.tokens or auth.clientCertificates")
	default:
		auth.Warn(auth.At("roles"), "roles are enforced, but there are no auth.owners: unless roles were assigned before, every request is refused",
			"auth.owners: [{principalId: GUID}], or roles: ignored")
	}
}

// listsCaller reports whether an owner is one of the callers in the configuration.
func (a *Auth) listsCaller(owner Owner) bool {
	return slices.Contains(a.callerTenants(owner.PrincipalID), arm.Fold(owner.TenantID))
}

// setTenants sets the tenant of each owner without one: the tenant of the listed callers with its
// ID, or else the only tenant of all subscriptions and issuers. If there are several, it reports a
// fault.
func (c *Config) setTenants(auth *setting.Object, at *yamltree.Node) {
	known := c.knownTenants()
	for i := range c.Auth.Owners {
		owner := &c.Auth.Owners[i]
		if owner.TenantID != "" {
			continue
		}
		of := known
		if listed := c.Auth.callerTenants(owner.PrincipalID); len(known) < 2 && len(listed) > 0 {
			of = listed
		}
		if len(of) == 0 { // no caller can sign in as this owner
			continue
		}
		if len(of) == 1 && of[0] != anyTenant {
			owner.TenantID = of[0]
			continue
		}
		auth.Fault(ownerNode(at, owner),
			"auth.owners.tenantId is missing, and there are several tenants: another tenant's caller with the id "+owner.PrincipalID+
				" would be an owner too",
			"the tenantId of the owner's tenant")
	}
}

// ownerNode returns the node of an owner without a tenant.
func ownerNode(owners *yamltree.Node, owner *Owner) *yamltree.Node {
	for _, item := range owners.Items {
		id, scope := item.Lookup("principalId"), item.Lookup("scope")
		if id != nil && arm.EqualFold(id.Value.Text, owner.PrincipalID) && item.Lookup("tenantId") == nil &&
			(scope == nil && owner.Scope == "/" || scope != nil && arm.EqualFold(scope.Value.Text, owner.Scope)) {
			return item
		}
	}
	return owners
}

// anyTenant is the tenant of an issuer that may name any tenant.
const anyTenant = "any"

// knownTenants returns the tenants of subscriptions and issuers, without duplicates.
func (c *Config) knownTenants() (all []string) {
	for _, s := range c.Subscriptions {
		all = append(all, arm.Fold(s.TenantID))
	}
	for _, i := range c.Auth.Issuers {
		all = append(all, cmp.Or(arm.Fold(i.TenantID), anyTenant))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// callerTenants returns the tenants of the listed callers with an object ID, without duplicates.
func (a *Auth) callerTenants(objectID string) (all []string) {
	for _, t := range a.Tokens {
		if arm.EqualFold(t.ObjectID, objectID) {
			all = append(all, arm.Fold(t.TenantID))
		}
	}
	for _, p := range a.Certificates.Principals {
		if arm.EqualFold(p.ObjectID, objectID) {
			all = append(all, arm.Fold(p.TenantID))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
