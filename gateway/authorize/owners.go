package authorize

import (
	"slices"
	"strings"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/config"
)

// owners maps callers and groups to the grants that the configuration names.
type owners map[ownerID]roles.Grants

// ownerID identifies a caller or a group: object ids are unique only within a tenant.
type ownerID struct{ tenant, object string }

func newOwners(named []config.Owner) owners {
	if len(named) == 0 {
		return nil
	}
	role, o := ownerRole(), owners{}
	for _, owner := range named {
		if owner.TenantID == "" {
			continue // matches no caller
		}
		id := ownerID{arm.Fold(owner.TenantID), arm.Fold(owner.PrincipalID)}
		o[id] = append(o[id], roles.Grant{Scope: arm.Fold(owner.Scope), Role: role})
	}
	return o
}

func ownerRole() *roles.Role {
	all := roles.BuiltIn()
	return roles.Compile(all[slices.IndexFunc(all, func(d roles.Definition) bool { return d.ID == roles.Owner })])
}

// grantsOf returns the grants of a caller and of its groups. It allocates nothing unless
// several of them have grants.
func (o owners) grantsOf(who *access.Principal) roles.Grants {
	if len(o) == 0 {
		return nil
	}
	tenant := arm.Fold(who.TenantID)
	granted := o[ownerID{tenant, arm.Fold(who.ObjectID)}]
	for rest := string(who.Groups); rest != ""; {
		var group string
		group, rest, _ = strings.Cut(rest, " ")
		switch more := o[ownerID{tenant, group}]; {
		case len(more) == 0:
		case len(granted) == 0:
			granted = more
		default:
			granted = slices.Concat(granted, more)
		}
	}
	return granted
}

// Owners returns the owners of a tenant that the configuration names at or above a scope
// and, if below is set, also below it, in the configuration's order and casing.
func (a *Authorizer) Owners(tenant, scope string, below bool) []config.Owner {
	var at []config.Owner
	atScope := roles.Grant{Scope: arm.Fold(scope)}
	for _, owner := range a.named {
		if !arm.EqualFold(owner.TenantID, tenant) {
			continue
		}
		if (roles.Grant{Scope: arm.Fold(owner.Scope)}).AppliesAt(scope) || below && atScope.AppliesAt(owner.Scope) {
			at = append(at, owner)
		}
	}
	return at
}
