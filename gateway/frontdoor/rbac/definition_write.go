package rbac

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"portico/access/roles"
	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/assignments"
	"portico/inventory/transaction"
	"portico/routing"
)

// Bounds of one definition, which is kept in memory.
const (
	longestRoleName        = 512
	longestRoleDescription = 2048
	longestAction          = 260
	mostActions            = 1024     // of all kinds, in all permissions
	longestActions         = 32 << 10 // all of them together, in bytes
	mostAssignableScopes   = 64       // the caller's right is checked at each
)

func readDefinition(x *exchange.Exchange, content []byte) (d assignments.Definition, err error) {
	var sent definitionBody
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		return d, fault
	}
	if fault := (route.Names{Name: sent.Name, Type: sent.Type}).Check(route.Names{Name: requestedName(x), Type: definitionsType}); fault != nil {
		return d, fault
	}
	p := sent.Properties
	d.Definition = roles.Definition{
		ID: arm.Fold(requestedName(x)), Name: strings.TrimSpace(p.RoleName), Description: p.Description,
		CreatedBy: x.Principal.ObjectID, UpdatedBy: x.Principal.ObjectID,
	}
	switch {
	case d.Name == "":
		return d, missingMember("properties.roleName")
	case utf8.RuneCountInString(d.Name) > longestRoleName:
		return d, route.TooLong("properties.roleName", len(d.Name), longestRoleName)
	case utf8.RuneCountInString(d.Description) > longestRoleDescription:
		return d, route.TooLong("properties.description", len(d.Description), longestRoleDescription)
	case p.Type != "" && !arm.EqualFold(p.Type, customRole):
		return d, arm.NewError(arm.InvalidRequestContent, "The type can only be CustomRole. Path 'properties.type'").WithTarget("properties.type")
	}
	var fault *arm.Error
	if d.Permissions, fault = readPermissions(p.Permissions); fault != nil {
		return d, fault
	}
	if d.AssignableScopes, fault = readScopes(p.AssignableScopes); fault != nil {
		return d, fault
	}
	d.ETag = definitionETag(d)
	return d, nil
}

// readPermissions checks permissions and replaces missing lists by empty ones.
func readPermissions(sent []roles.Permission) ([]roles.Permission, *arm.Error) {
	if len(sent) == 0 {
		return nil, missingMember("properties.permissions")
	}
	all, n, size := slices.Clone(sent), 0, 0
	for i := range all {
		for _, list := range []*[]string{&all[i].Actions, &all[i].NotActions, &all[i].DataActions, &all[i].NotDataActions} {
			if *list == nil {
				*list = []string{}
			}
			if n += len(*list); n > mostActions {
				return nil, arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("A role has at most %d actions. Path 'properties.permissions'", mostActions)).
					WithTarget("properties.permissions")
			}
			for _, action := range *list {
				if !validAction(action) {
					return nil, arm.NewError(arm.InvalidActionOrNotAction, action).WithTarget("properties.permissions")
				}
				if size += len(action); size > longestActions {
					return nil, route.TooLong("properties.permissions", size, longestActions)
				}
			}
		}
	}
	return all, nil
}

// validAction reports whether a text can match the name of an action.
func validAction(s string) bool {
	return s != "" && len(s) <= longestAction && (strings.Contains(s, "/") || strings.Contains(s, "*")) && !strings.ContainsFunc(s, func(c rune) bool {
		return ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && !strings.ContainsRune("./*-_$", c)
	})
}

// readScopes checks assignable scopes, and returns each once: the tenant, subscriptions
// and groups.
func readScopes(sent []string) (all []string, fault *arm.Error) {
	const member = "properties.assignableScopes"
	if len(sent) == 0 {
		return nil, missingMember(member)
	}
	if len(sent) > mostAssignableScopes {
		return nil, arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("A role has at most %d assignable scopes. Path '%s'", mostAssignableScopes, member)).
			WithTarget(member)
	}
	for _, s := range sent {
		id, ok := assignableScope(s)
		if !ok {
			return nil, arm.NewError(arm.InvalidRequestContent,
				"An assignable scope is '/', or the id of a subscription or a resource group. Path '"+member+"'").WithTarget(member)
		}
		if !slices.ContainsFunc(all, func(other string) bool { return arm.EqualFold(other, id) }) {
			all = append(all, id)
		}
	}
	return all, nil
}

// assignableScope returns the id of a scope in the usual form. It refuses resources: a
// custom role for a single resource makes no sense.
func assignableScope(s string) (id string, ok bool) {
	var p arm.Path
	if !arm.ValidScope(s) || p.Parse(arm.PathOf(s)) != nil || p.Hops() > 0 {
		return "", false
	}
	switch {
	case p.Subscription() == "":
		return roles.TenantScope, true
	case p.Group() == "":
		return "/subscriptions/" + p.Subscription(), true
	}
	return routing.GroupID(p.Subscription(), p.Group()), true
}

func (g Definitions) put(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := g.findWriteScope(r.Context(), x, req)
	if err != nil {
		return err
	}
	next, err := readDefinition(x, req.Content)
	if err != nil {
		return err
	}
	conditions := route.Preconditions(r, x)
	err = g.retryIfChanged(r.Context(), at, requestedName(x), func(before *assignments.Definition) error {
		if err := g.mayChange(r.Context(), x, at, before, next.AssignableScopes, "write"); err != nil {
			return err
		}
		if err := g.checkNoOrphans(r.Context(), at, before, next); err != nil {
			return err
		}
		edit := func(current *assignments.Definition) (*assignments.Definition, error) {
			if generationOf(current) != generationOf(before) {
				return nil, errOvertaken
			}
			wanted, etag := next, ""
			if current != nil {
				wanted.CreatedBy, etag = current.CreatedBy, current.ETag
			}
			return &wanted, conditions(etag)
		}
		stored, _, err := g.Store.Roles.PutDefinition(r.Context(), at.TenantID, requestedName(x), edit)
		if err == nil {
			next = stored
		}
		return err
	})
	if err != nil {
		return definitionRefusal(x, next, err)
	}
	g.warnUnknown(w, x, next.Permissions)
	// As in ARM, the answer is 201 even if the definition existed.
	return route.AnswerTagged(w, r, x, http.StatusCreated, next.ETag, definitionAt(at.Subscription, next))
}

func (g Definitions) delete(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := g.findWriteScope(r.Context(), x, req)
	if err != nil {
		return err
	}
	conditions := route.Preconditions(r, x)
	var gone assignments.Definition
	err = g.retryIfChanged(r.Context(), at, requestedName(x), func(before *assignments.Definition) error {
		if before == nil {
			return inventory.ErrNotFound
		}
		if err := g.mayChange(r.Context(), x, at, before, nil, "delete"); err != nil {
			return err
		}
		return g.Store.Roles.DeleteDefinition(r.Context(), at.TenantID, requestedName(x), func(current assignments.Definition) error {
			gone = current
			if current.Generation != before.Generation {
				return errOvertaken
			}
			return conditions(current.ETag)
		})
	})
	if errors.Is(err, inventory.ErrNotFound) {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	if err != nil {
		return definitionRefusal(x, gone, err)
	}
	return x.Answer(w, http.StatusOK, definitionAt(at.Subscription, gone))
}

// findWriteScope finds the scope of a write, and refuses names that cannot be one of the
// tenant's own roles.
func (g Definitions) findWriteScope(ctx context.Context, x *exchange.Exchange, req route.Request) (place, error) {
	at, err := findScope(ctx, g.Scopes, x, req)
	if err != nil {
		return at, err
	}
	if err := at.needTenant(); err != nil {
		return at, err
	}
	_, ofAll := findBuiltIn(requestedName(x))
	switch {
	case ofAll:
		return at, arm.NewError(arm.InvalidRoleDefinitionID, requestedName(x)).WithTarget("roleDefinitionId").
			WithMessage("The role definition '%s' is built in, and cannot be changed or deleted.", requestedName(x))
	case !arm.ValidGUID(requestedName(x)):
		return at, arm.NewError(arm.InvalidRoleDefinitionID, requestedName(x)).WithTarget("roleDefinitionId")
	}
	return at, nil
}

// errOvertaken reports that a definition was changed after the caller's rights were
// checked.
var errOvertaken = errors.New("roles: the role definition was changed meanwhile")

// mostOvertaken bounds how often a change starts over because of errOvertaken.
const mostOvertaken = 5

// retryIfChanged calls change with the current definition, or nil, and again if somebody
// else changed it meanwhile: rights are checked outside of the transaction.
func (g Definitions) retryIfChanged(ctx context.Context, at place, id string, change func(before *assignments.Definition) error) error {
	for range mostOvertaken {
		var before *assignments.Definition
		switch d, err := g.Store.Roles.Definition(ctx, at.TenantID, id); {
		case err == nil:
			before = &d
		case !errors.Is(err, inventory.ErrNotFound):
			return err
		}
		if err := change(before); !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return admission.Busy(definitionID(at.Subscription, id))
}

func generationOf(d *assignments.Definition) [16]byte {
	if d == nil {
		return [16]byte{}
	}
	return d.Generation
}

// mayChange refuses a change unless the caller may change definitions at every scope
// where this one is assignable, now and afterwards: it takes effect at all of them. The
// scopes must belong to its tenant.
func (g Definitions) mayChange(ctx context.Context, x *exchange.Exchange, at place, before *assignments.Definition, scopes []string, verb string) error {
	for _, s := range scopes {
		refusal, refused, err := g.hasRight(ctx, x, verb, s)
		if err != nil {
			return err
		}
		if !refused {
			refused, err = g.isForeignScope(ctx, at, s)
		}
		if err != nil {
			return err
		}
		if refused {
			return linkedRefusal(x, at, verb, s, refusal)
		}
	}
	if before == nil {
		return nil
	}
	for _, s := range before.AssignableScopes {
		if refusal, refused, err := g.hasRight(ctx, x, verb, s); err != nil || refused {
			// Not everybody may know which scopes it has.
			return cmp.Or(err, linkedRefusal(x, at, verb, definitionID(at.Subscription, before.ID), refusal))
		}
	}
	return nil
}

// hasRight checks whether the caller may do something with the definitions at a scope.
func (g Definitions) hasRight(ctx context.Context, x *exchange.Exchange, verb, scopeID string) (refusal *arm.Error, refused bool, err error) {
	err = g.Authorizer.Check(ctx, x, definitionsType+"/"+verb, scopeID)
	if refusal, refused = errors.AsType[*arm.Error](err); refused {
		return refusal, true, nil
	}
	return nil, false, err
}

// isForeignScope reports whether an assignable scope is in no subscription of the tenant.
func (g Definitions) isForeignScope(ctx context.Context, at place, scopeID string) (bool, error) {
	if scopeID == roles.TenantScope {
		return false, nil
	}
	var p arm.Path
	if err := p.Parse(arm.PathOf(scopeID)); err != nil {
		return false, err
	}
	found, err := g.Store.Subscription(ctx, arm.Fold(p.Subscription()))
	if errors.Is(err, inventory.ErrNotFound) {
		return true, nil
	}
	return err == nil && (!arm.EqualFold(found.TenantID, at.TenantID) || found.State == inventory.Deleted), err
}

// linkedRefusal refuses a change because of a scope other than the request's. because may
// be nil.
func linkedRefusal(x *exchange.Exchange, at place, verb, scopeID string, because *arm.Error) error {
	action := definitionsType + "/" + verb
	fault := arm.NewError(arm.LinkedAuthorizationFailed, x.Principal.Signature(), x.Principal.ObjectID, action, at.ID, action, scopeID)
	if because != nil {
		fault.Cause = because
	}
	return fault
}

// checkNoOrphans refuses to remove an assignable scope from a definition while it is
// assigned there. An assignment made at the same moment will not count.
func (g Definitions) checkNoOrphans(ctx context.Context, at place, before *assignments.Definition, next assignments.Definition) error {
	if before == nil {
		return nil
	}
	for _, s := range before.AssignableScopes {
		if next.AssignableAt(s) {
			continue
		}
		assigned, err := g.isAssigned(ctx, at, s, next)
		if err != nil {
			return err
		}
		if assigned {
			return arm.NewError(arm.RoleScopeBeingRemovedContainsAssignments, s)
		}
	}
	return nil
}

// isAssigned reports whether a definition is assigned at or below one of its present
// scopes where it will no longer be assignable.
func (g Definitions) isAssigned(ctx context.Context, at place, scopeID string, next assignments.Definition) (bool, error) {
	in := assignments.Scope{TenantID: at.TenantID, ID: scopeID}
	var p arm.Path
	if err := p.Parse(arm.PathOf(scopeID)); err == nil {
		in.Subscription, in.Group = arm.Fold(p.Subscription()), p.Group()
	}
	q := assignments.Query{Scope: in, Below: true, Limit: 1000}
	for {
		found, err := g.Store.Roles.Assignments(ctx, q)
		if err != nil {
			return false, fmt.Errorf("list role assignments: %w", err)
		}
		for _, a := range found {
			if a.RoleDefinition == next.ID && !next.AssignableAt(a.ScopeID) {
				return true, nil
			}
		}
		if len(found) < q.Limit {
			return false, nil
		}
		q.After = &found[len(found)-1]
	}
}

// definitionRefusal converts the inventory's refusal of a definition to ARM's.
func definitionRefusal(x *exchange.Exchange, d assignments.Definition, err error) error {
	var quota *transaction.QuotaError
	switch {
	case errors.Is(err, assignments.ErrNameExists):
		return arm.NewError(arm.RoleDefinitionWithSameNameExists, d.Name).WithTarget("properties.roleName")
	case errors.Is(err, assignments.ErrAssigned):
		return arm.NewError(arm.RoleDefinitionHasAssignments)
	case errors.As(err, &quota):
		return arm.NewError(arm.RoleDefinitionLimitExceeded, quota.Limit)
	}
	return admission.Refusal(x, err)
}
