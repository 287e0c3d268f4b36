package rbac

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"portico/access/roles"
	"portico/arm"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/assignments"
	"portico/regions"
)

const (
	definitionsName = "roleDefinitions"
	definitionsType = namespace + "/" + definitionsName

	builtInRole = "BuiltInRole"
	customRole  = "CustomRole"
)

// Definitions serves role definitions: the built-in ones and a tenant's own.
type Definitions struct {
	Store      *inventory.Store
	Map        *regions.Map
	Scopes     route.Scopes
	Lists      route.Lists
	Authorizer *authorize.Authorizer
}

// Routes implements frontdoor.Resource.
func (g Definitions) Routes() []route.Route {
	const open = "every signed-in caller may know the roles"
	return []route.Route{
		{Method: http.MethodGet, Matches: atTenant(rolesPath(definitionsName, 1)), Open: open, Handle: g.list},
		{Method: http.MethodGet, Matches: atTenant(rolesPath(definitionsName, 2)), Open: open, Handle: g.get},
		{Method: http.MethodGet, Matches: rolesPath(definitionsName, 1), Action: definitionsType + "/read", Partly: true, Handle: g.list},
		{Method: http.MethodGet, Matches: rolesPath(definitionsName, 2), Action: definitionsType + "/read", Partly: true, Handle: g.get},
		{Method: http.MethodPut, Matches: rolesPath(definitionsName, 2), Action: definitionsType + "/write", Handle: g.put},
		{Method: http.MethodDelete, Matches: rolesPath(definitionsName, 2), Action: definitionsType + "/delete", Handle: g.delete},
	}
}

type definitionBody struct {
	Properties definitionProperties `json:"properties"`
	ID         string               `json:"id"`
	Type       string               `json:"type"`
	Name       string               `json:"name"`
	ETag       string               `json:"etag,omitempty"`
}

type definitionProperties struct {
	RoleName         string             `json:"roleName"`
	Type             string             `json:"type"`
	Description      string             `json:"description"`
	AssignableScopes []string           `json:"assignableScopes"`
	Permissions      []roles.Permission `json:"permissions"`
	CreatedOn        string             `json:"createdOn,omitempty"`
	UpdatedOn        string             `json:"updatedOn,omitempty"`
	CreatedBy        *string            `json:"createdBy"`
	UpdatedBy        *string            `json:"updatedBy"`
}

// definitionAt returns a definition as shown in a subscription, or at the tenant if
// subscription is "".
func definitionAt(subscription string, d assignments.Definition) definitionBody {
	kind := customRole
	if d.BuiltIn {
		kind = builtInRole
	}
	return definitionBody{
		ID: definitionID(subscription, d.ID), Name: d.ID, Type: definitionsType, ETag: d.ETag,
		Properties: definitionProperties{
			RoleName: d.Name, Type: kind, Description: d.Description, AssignableScopes: d.AssignableScopes, Permissions: d.Permissions,
			CreatedOn: shownTime(d.CreatedOn), UpdatedOn: shownTime(d.UpdatedOn), CreatedBy: optional(d.CreatedBy), UpdatedBy: optional(d.UpdatedBy),
		},
	}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func definitionETag(d assignments.Definition) string {
	return arm.WeakETag([]any{d.Name, d.Description, d.Permissions, d.AssignableScopes})
}

// builtIn are the roles that every tenant has.
var builtIn = builtInDefinitions()

func builtInDefinitions() (all []assignments.Definition) {
	for _, d := range roles.BuiltIn() {
		of := assignments.Definition{Definition: d}
		of.ETag = definitionETag(of)
		all = append(all, of)
	}
	return all
}

// findBuiltIn returns the built-in role with an id, and whether there is one.
func findBuiltIn(id string) (assignments.Definition, bool) {
	for _, d := range builtIn {
		if arm.EqualFold(d.ID, id) {
			return d, true
		}
	}
	return assignments.Definition{}, false
}

// definitionOf returns a role of a tenant, or inventory.ErrNotFound.
func definitionOf(ctx context.Context, store *assignments.Roles, tenant, id string) (assignments.Definition, error) {
	if d, ok := findBuiltIn(id); ok {
		return d, nil
	}
	if !arm.ValidGUID(id) || tenant == "" {
		return assignments.Definition{}, inventory.ErrNotFound
	}
	return store.Definition(ctx, tenant, id)
}

func (g Definitions) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := findScope(r.Context(), g.Scopes, x, req)
	if err != nil {
		return err
	}
	d, err := definitionOf(r.Context(), g.Store.Roles, at.TenantID, requestedName(x))
	shown := false
	if err == nil {
		shown, err = g.mayShow(r.Context(), x, at, d, req.Readable)
	}
	if errors.Is(err, inventory.ErrNotFound) || err == nil && !shown {
		return arm.NewError(arm.RoleDefinitionDoesNotExist, requestedName(x))
	}
	if err != nil {
		return err
	}
	return route.AnswerTagged(w, r, x, http.StatusOK, d.ETag, definitionAt(at.Subscription, d))
}

// mayShow reports whether a caller at a scope may see a definition: if it is assignable
// there, above or below. At the tenant, where every signed-in caller may ask, a custom
// role is shown to callers that may read one of its scopes.
func (g Definitions) mayShow(ctx context.Context, x *exchange.Exchange, at place, d assignments.Definition, readable *authorize.Readable) (bool, error) {
	if d.AssignableAt(at.ID) {
		return true, nil
	}
	if at.ID != roles.TenantScope {
		return assignableBelow(d, at, readable), nil
	}
	for _, s := range d.AssignableScopes {
		err := g.Authorizer.CheckPrincipal(ctx, x.Principal, definitionsType+"/read", s)
		if _, refused := errors.AsType[*arm.Error](err); !refused {
			return err == nil, err
		}
	}
	return false, nil
}

// assignableBelow reports whether a definition is assignable at a scope below at that the
// caller may see.
func assignableBelow(d assignments.Definition, at place, readable *authorize.Readable) bool {
	return d.AssignableBelow(at.ID) && slices.ContainsFunc(d.AssignableScopes, readable.Shows)
}

// The conditions that a list of definitions can be filtered by.
const (
	atScopeAndBelow = "atScopeAndBelow()"
	roleName        = "roleName"
	roleType        = "type"
)

// list answers with the roles that can be assigned at a scope and, if the filter asks for
// them, below it.
func (g Definitions) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := findScope(r.Context(), g.Scopes, x, req)
	if err != nil {
		return err
	}
	p, err := g.Lists.Read(x)
	if err != nil {
		return err
	}
	terms, err := filterOf(x.Request, atScope, atScopeAndBelow, roleName, roleType)
	if err != nil {
		return err
	}
	return route.ListSource[assignments.Definition]{
		Read: func(after string, limit int) ([]assignments.Definition, error) {
			return g.read(r.Context(), at, after, limit)
		},
		Key:  definitionKey,
		Keep: func(d assignments.Definition) bool { return matchesList(terms, at, d, req.Readable) },
		Show: func(d assignments.Definition) any { return definitionAt(at.Subscription, d) },
	}.Answer(w, x, g.Lists, p)
}

// matchesList reports whether a definition is in the list at a scope with these
// conditions. The tenant's list has no roles of scopes below: every signed-in caller may
// read it.
func matchesList(terms []term, at place, d assignments.Definition, readable *authorize.Readable) bool {
	andBelow := false
	for _, t := range terms {
		switch {
		case arm.EqualFold(t.field, atScopeAndBelow):
			andBelow = at.ID != roles.TenantScope
		case arm.EqualFold(t.field, roleName) && !arm.EqualFold(t.text, d.Name):
			return false
		case arm.EqualFold(t.field, roleType) &&
			(!arm.EqualFold(t.text, builtInRole) && !arm.EqualFold(t.text, customRole) || arm.EqualFold(t.text, builtInRole) != d.BuiltIn):
			return false
		}
	}
	return d.AssignableAt(at.ID) || andBelow && assignableBelow(d, at, readable)
}

// The keys of definitions in a list order the built-in ones first.
const (
	builtInFirst = "0"
	customLater  = "1"
)

func definitionKey(d assignments.Definition) string {
	if d.BuiltIn {
		return builtInFirst + d.ID
	}
	return customLater + d.ID
}

// read returns the definitions of a tenant after a key.
func (g Definitions) read(ctx context.Context, at place, after string, limit int) ([]assignments.Definition, error) {
	var found []assignments.Definition
	behind, custom := strings.CutPrefix(after, customLater)
	if !custom {
		behind = ""
		for _, d := range builtIn {
			if definitionKey(d) > after {
				found = append(found, d)
			}
		}
		if len(found) >= limit {
			return found[:limit], nil
		}
	}
	if at.TenantID == "" {
		return found, nil
	}
	stored, err := g.Store.Roles.Definitions(ctx, at.TenantID, behind, limit-len(found))
	return append(found, stored...), err
}
