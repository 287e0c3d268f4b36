package config

import (
	"slices"

	"portico/arm"
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// What becomes of roles.
const (
	RolesEnforced = "enforced"
	RolesIgnored  = "ignored"
)

// Owner is a caller, or a group of callers, that may do everything at a scope and below,
// without a role assignment: somebody has to make the first.
type Owner struct {
	PrincipalID string
	Scope       string // "/" for all that the owner's tenant has
}

func ownerRows(r *files.Reader, owners *[]Owner) *setting.Setting {
	seen := r.Unique("the owner")
	return setting.Mappings("owners", "Who may do everything without being assigned a role, so that somebody can assign the first ones.", (*Owner).rows,
		func(o *setting.Object, owner Owner) {
			if o.Get("scope") != nil && o.Right("scope") == nil {
				return
			}
			if at := o.Right("principalId"); at != nil && seen.Add(at, owner.PrincipalID+" "+arm.Fold(owner.Scope), owner.PrincipalID) {
				*owners = append(*owners, owner)
			}
		}).Default("none")
}

func (w *Owner) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Required("principalId", &w.PrincipalID, rule.GUID(), "The object id of a caller, or of a group that callers belong to."),
		setting.Value("scope", &w.Scope, rule.Scope(), "/",
			"Where: `/` for all subscriptions of its tenant, or the ID of a subscription, of a group or of a resource."),
	}
}

// checkOwners reports owners without authentication. It warns of a configuration by
// which nobody could do anything until roles are assigned, nor assign them.
func checkOwners(auth *setting.Object, a *Auth) {
	at := auth.Get("owners")
	switch {
	case given(at) && a.Mode == AuthNone:
		auth.Fault(at, "auth.owners are given, but auth.mode is none", "issuers, clientCertificates or tokens; or no owners")
	case auth.Broken || !a.RolesEnforced() || given(at) && (len(a.Owners) == 0 || len(a.Issuers) > 0 || slices.ContainsFunc(a.Owners, a.knows)):
	case given(at):
		auth.Warn(at, "auth.owners names none of the callers that there are: unless roles were assigned before, everybody is refused everything",
			"the objectId of one of auth.tokens or auth.clientCertificates")
	default:
		auth.Warn(auth.At("roles"), "roles are enforced, and auth.owners names nobody: unless roles were assigned before, everybody is refused everything",
			"auth.owners: [{principalId: GUID}], or roles: ignored")
	}
}

// knows reports whether an owner is one of the callers that the configuration lists.
func (a *Auth) knows(owner Owner) bool {
	return slices.ContainsFunc(a.Tokens, func(t Token) bool { return t.ObjectID == owner.PrincipalID }) ||
		slices.ContainsFunc(a.Certificates.Principals, func(p CertificatePrincipal) bool { return p.ObjectID == owner.PrincipalID })
}
