package admin

import (
	"errors"
	"net/http"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/routing"
)

// checkRoles reports whether a caller, given only by its ids, may do an action at a scope. It
// reads the store, as the caller's next request would.
func (l *listener) checkRoles(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var sent api.RoleCheck
	if err := readBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	for _, id := range append([]string{sent.PrincipalID}, sent.Groups...) {
		if !arm.ValidGUID(id) {
			return 0, nil, arm.NewError(arm.InvalidRequestContent, "a principal and its groups must be GUIDs").WithTarget("principalId")
		}
	}
	if err := checkQuestion(sent.TenantID, sent.Action, sent.Scope); err != nil {
		return 0, nil, err
	}
	who := access.Principal{TenantID: arm.Fold(sent.TenantID), ObjectID: arm.Fold(sent.PrincipalID), Groups: access.GroupsOf(sent.Groups)}
	visible, err := l.subscriptionVisible(r, &who, sent.Scope)
	if err != nil {
		return 0, nil, err
	}
	if !visible {
		return http.StatusOK, api.RoleAnswer{Reason: "The tenant of the caller has no such subscription."}, nil
	}
	grant, err := l.Authorizer.Explain(r.Context(), who, sent.Action, sent.Scope)
	fault, refused := errors.AsType[*arm.Error](err)
	switch {
	case refused:
		return http.StatusOK, api.RoleAnswer{Reason: fault.Message, WouldAllow: roles.BuiltInFor(sent.Action)}, nil
	case err != nil:
		return 0, nil, err
	case grant.Role == nil:
		return http.StatusOK, api.RoleAnswer{Allowed: true, Reason: "Roles are not enforced."}, nil
	}
	return http.StatusOK, api.RoleAnswer{Allowed: true, Grant: &api.RoleGrant{
		Assignment: grant.Assignment, Owner: grant.Assignment == "", Scope: grant.Scope, Role: grant.Role.Name(),
	}}, nil
}

// subscriptionVisible reports whether the subscription of a scope exists for a caller. If the
// caller has no tenant, it sets the subscription's.
func (l *listener) subscriptionVisible(r *http.Request, who *access.Principal, scope string) (bool, error) {
	id := routing.SubscriptionOf(scope)
	if id == "" {
		return who.TenantID != "", nil
	}
	s, err := l.Store.Subscription(r.Context(), arm.Fold(id))
	if errors.Is(err, inventory.ErrNotFound) {
		return false, nil
	}
	if who.TenantID == "" {
		who.TenantID = s.TenantID
	}
	return who.CanSee(s.TenantID) && s.State != inventory.Deleted, err
}
