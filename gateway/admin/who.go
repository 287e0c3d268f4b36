package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"portico/access/roles"
	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/assignments"
	"portico/routing"
)

// mostAssignments bounds the assignments examined for one question.
const mostAssignments = 5000

// whoMay lists the principals that may do an action at a scope, with their grants. It reads
// the store, as their next requests would.
func (l *listener) whoMay(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var sent api.RoleQuestion
	if err := readBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	if err := checkQuestion(sent.TenantID, sent.Action, sent.Scope); err != nil {
		return 0, nil, err
	}
	if !l.Authorizer.Enforced() {
		return http.StatusOK, api.RoleHolders{Everybody: true, Value: []api.RoleHolder{}}, nil
	}
	at, err := l.scopeOf(r.Context(), sent)
	if err != nil {
		return 0, nil, err
	}
	answer := api.RoleHolders{Value: []api.RoleHolder{}}
	for _, o := range l.Authorizer.Owners(at.TenantID, sent.Scope, false) {
		answer.Value = append(answer.Value, api.RoleHolder{PrincipalID: o.PrincipalID, Grant: api.RoleGrant{Owner: true, Scope: o.Scope, Role: "Owner"}})
	}
	found, err := l.Store.Roles.Assignments(r.Context(), assignments.Query{Scope: at, Above: true, Limit: mostAssignments + 1})
	if err != nil {
		return 0, nil, fmt.Errorf("list role assignments: %w", err)
	}
	if answer.Further = len(found) > mostAssignments; answer.Further {
		found = found[:mostAssignments]
	}
	holders, err := l.holders(r.Context(), at.TenantID, sent.Action, found)
	if err != nil {
		return 0, nil, err
	}
	answer.Value = append(answer.Value, holders...)
	nameEach(r.Context(), l, at.TenantID, answer.Value, func(h *api.RoleHolder) (string, *string) { return h.PrincipalID, &h.PrincipalName })
	return http.StatusOK, answer, nil
}

// checkQuestion validates a question about an action at a scope.
func checkQuestion(tenant, action, scope string) error {
	switch {
	case tenant != "" && !arm.ValidGUID(tenant):
		return arm.NewError(arm.InvalidRequestContent, "tenant must be a GUID").WithTarget("tenantId")
	case action == "":
		return arm.NewError(arm.InvalidRequestContent, "action is missing").WithTarget("action")
	case !arm.ValidScope(scope):
		return arm.NewError(arm.InvalidRequestContent, "scope must be /, or the ID of a subscription, a group or a resource").WithTarget("scope")
	}
	return nil
}

// scopeOf returns the scope of a question, in the tenant of its subscription.
func (l *listener) scopeOf(ctx context.Context, question api.RoleQuestion) (assignments.Scope, error) {
	id := routing.SubscriptionOf(question.Scope)
	if id == "" {
		if question.TenantID == "" {
			return assignments.Scope{}, arm.NewError(arm.InvalidRequestContent, "a scope outside of subscriptions needs a tenant").WithTarget("tenantId")
		}
		return assignments.Scope{TenantID: arm.Fold(question.TenantID), ID: roles.TenantScope}, nil
	}
	s, err := l.Store.Subscription(ctx, arm.Fold(id))
	switch {
	case errors.Is(err, inventory.ErrNotFound),
		err == nil && (s.State == inventory.Deleted || question.TenantID != "" && !arm.EqualFold(question.TenantID, s.TenantID)):
		return assignments.Scope{}, arm.NewError(arm.SubscriptionNotFound, id)
	case err != nil:
		return assignments.Scope{}, fmt.Errorf("read the subscription of a question: %w", err)
	}
	return assignments.Scope{TenantID: s.TenantID, Subscription: s.ID, ID: question.Scope}, nil
}

// holders returns the assignments whose roles allow an action. Assignments with a condition,
// or of another tenant, grant nothing.
func (l *listener) holders(ctx context.Context, tenant, action string, in []assignments.Assignment) (all []api.RoleHolder, err error) {
	known := map[string]*roles.Role{}
	for _, d := range roles.BuiltIn() {
		known[d.ID] = roles.Compile(d)
	}
	for _, a := range in {
		if a.Condition != "" || !arm.EqualFold(a.TenantID, tenant) {
			continue
		}
		role := known[a.RoleDefinition]
		if role == nil {
			d, err := l.Store.Roles.Definition(ctx, tenant, a.RoleDefinition)
			if err != nil && !errors.Is(err, inventory.ErrNotFound) {
				return all, fmt.Errorf("read the role of an assignment: %w", err)
			}
			role = roles.Compile(d.Definition) // one that is gone allows nothing
			known[a.RoleDefinition] = role
		}
		if role.Allows(action) {
			all = append(all, api.RoleHolder{
				PrincipalID: a.PrincipalID, PrincipalType: a.PrincipalType,
				Grant: api.RoleGrant{Assignment: assignments.ID(a.ScopeID, a.Name), Scope: a.ScopeID, Role: role.Name()},
			})
		}
	}
	return all, nil
}
