package authorize

import (
	"slices"
	"strings"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/config"
)

// owners are what the configuration grants, by the object ids of callers and groups.
type owners map[string]roles.Grants

func newOwners(named []config.Owner) owners {
	if len(named) == 0 {
		return nil
	}
	role, o := ownerRole(), owners{}
	for _, owner := range named {
		id := arm.Fold(owner.PrincipalID)
		o[id] = append(o[id], roles.Grant{Scope: arm.Fold(owner.Scope), Role: role})
	}
	return o
}

// ownerRole is the role that allows everything.
func ownerRole() *roles.Role {
	all := roles.BuiltIn()
	return roles.Compile(all[slices.IndexFunc(all, func(d roles.Definition) bool { return d.ID == roles.Owner })])
}

// of returns what a caller has by itself or by a group. For a caller with one of both
// it allocates nothing.
func (o owners) of(who *access.Principal) roles.Grants {
	if len(o) == 0 {
		return nil
	}
	granted := o[arm.Fold(who.ObjectID)]
	for rest := string(who.Groups); rest != ""; {
		var group string
		group, rest, _ = strings.Cut(rest, " ")
		switch more := o[group]; {
		case len(more) == 0:
		case len(granted) == 0:
			granted = more
		default:
			granted = slices.Concat(granted, more)
		}
	}
	return granted
}

// Owners returns the owners that the configuration names at, above and, with below, also
// below a scope, in the configuration's order and casing.
func (a *Authorizer) Owners(scope string, below bool) []config.Owner {
	var at []config.Owner
	asked := roles.Grant{Scope: arm.Fold(scope)}
	for _, owner := range a.named {
		if (roles.Grant{Scope: arm.Fold(owner.Scope)}).Holds(scope) || below && asked.Holds(owner.Scope) {
			at = append(at, owner)
		}
	}
	return at
}
