// Package rbac serves access control: role definitions, role assignments and the
// permissions of a caller, at the tenant, a subscription, a group or a resource. The
// inventory keeps them; package access/roles decides what they allow, and package
// authorize applies them to requests.
//
// No caller can extend rights beyond its own reach. To change a custom role, a caller
// needs the right to change role definitions at every scope where the role is assignable,
// before and after: the role takes effect at all of them. A role can be assigned only
// where it is assignable; an older assignment elsewhere does not count.
//
// The owners that the configuration names are shown as assignments too. Only the
// configuration can change them.
package rbac

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/assignments"
)

const (
	assignmentsName = "roleAssignments"
	assignmentsType = namespace + "/" + assignmentsName
)

// Assignments serves role assignments.
type Assignments struct {
	Roles      *assignments.Roles
	Scopes     route.Scopes
	Lists      route.Lists
	Authorizer *authorize.Authorizer
}

// Routes implements frontdoor.Resource.
func (g Assignments) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Matches: rolesPath(assignmentsName, 1), Action: assignmentsType + "/read", Partly: true, Handle: g.list},
		{Method: http.MethodGet, Matches: rolesPath(assignmentsName, 2), Action: assignmentsType + "/read", Handle: g.get},
		{Method: http.MethodPut, Matches: rolesPath(assignmentsName, 2), Action: assignmentsType + "/write", Handle: g.put},
		{Method: http.MethodDelete, Matches: rolesPath(assignmentsName, 2), Action: assignmentsType + "/delete", Handle: g.delete},
	}
}

type assignmentBody struct {
	Properties assignmentProperties `json:"properties"`
	ID         string               `json:"id"`
	Type       string               `json:"type"`
	Name       string               `json:"name"`
	ETag       string               `json:"etag,omitempty"`
}

type assignmentProperties struct {
	RoleDefinitionID string `json:"roleDefinitionId"`
	PrincipalID      string `json:"principalId"`
	PrincipalType    string `json:"principalType,omitempty"`
	Scope            string `json:"scope"`
	Condition        string `json:"condition,omitempty"`
	ConditionVersion string `json:"conditionVersion,omitempty"`
	CreatedOn        string `json:"createdOn,omitempty"`
	UpdatedOn        string `json:"updatedOn,omitempty"`
	CreatedBy        string `json:"createdBy,omitempty"`
	UpdatedBy        string `json:"updatedBy,omitempty"`
	DelegatedManaged string `json:"delegatedManagedIdentityResourceId,omitempty"`
	Description      string `json:"description,omitempty"`
}

// assignmentAt returns an assignment as shown in a subscription, or at the tenant if
// subscription is "". As in ARM, its role has the id that a list of roles shows there,
// even if the assignment is inherited from the tenant.
func assignmentAt(subscription string, a assignments.Assignment) assignmentBody {
	return assignmentBody{
		ID: assignments.ID(a.ScopeID, a.Name), Name: a.Name, Type: assignmentsType, ETag: a.ETag,
		Properties: assignmentProperties{
			RoleDefinitionID: definitionID(subscription, a.RoleDefinition), PrincipalID: a.PrincipalID, PrincipalType: a.PrincipalType,
			Scope: a.ScopeID, Condition: a.Condition, ConditionVersion: a.ConditionVersion, Description: a.Description,
			DelegatedManaged: a.DelegatedManagedIdentity,
			CreatedOn:        shownTime(a.CreatedOn), UpdatedOn: shownTime(a.UpdatedOn), CreatedBy: a.CreatedBy, UpdatedBy: a.UpdatedBy,
		},
	}
}

// shownTime returns a time as ARM writes it, "" for the zero time.
func shownTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.0000000Z")
}

// assignmentETag returns the entity tag of an assignment. It does not cover the scope, so
// that an assignment keeps it when its resource moves.
func assignmentETag(a assignments.Assignment) string {
	return arm.WeakETag([]string{a.PrincipalID, a.PrincipalType, a.RoleDefinition, a.Description, a.DelegatedManagedIdentity})
}

func (g Assignments) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := findScope(r.Context(), g.Scopes, x, req)
	if err != nil {
		return err
	}
	found, err := g.findAssignment(r.Context(), at, requestedName(x))
	if errors.Is(err, inventory.ErrNotFound) {
		return arm.NewError(arm.RoleAssignmentNotFound, requestedName(x))
	}
	if err != nil {
		return err
	}
	return route.AnswerTagged(w, r, x, http.StatusOK, found.ETag, assignmentAt(at.Subscription, found))
}

// findAssignment returns an assignment, of the store or of the configuration.
func (g Assignments) findAssignment(ctx context.Context, at place, name string) (assignments.Assignment, error) {
	if a, configured := g.findConfigured(at, name); configured {
		return a, nil
	}
	if !arm.ValidGUID(name) || at.TenantID == "" {
		return assignments.Assignment{}, inventory.ErrNotFound
	}
	return g.Roles.Assignment(ctx, at.Scope, name)
}

// The conditions that a list of assignments can be filtered by.
const (
	atScope     = "atScope()"
	assignedTo  = "assignedTo()"
	principalID = "principalId"
)

// selection is the part of the assignments that a client asks for.
type selection struct {
	below bool
	// principals are the folded ids of the principals whose assignments are listed; nil:
	// everyone's.
	principals []string
}

func selectionOf(x *exchange.Exchange) (selection, error) {
	s := selection{below: true}
	terms, err := filterOf(x.Request, atScope, assignedTo, principalID)
	for _, t := range terms {
		if t.field == arm.Fold(atScope) {
			s.below = false
			continue
		}
		who := []string{arm.Fold(t.text)}
		if t.field == arm.Fold(assignedTo) && arm.EqualFold(t.text, x.Principal.ObjectID) {
			// The groups of other principals are not known here.
			who = slices.AppendSeq(who, x.Principal.Groups.All())
		}
		if s.principals != nil {
			who = slices.DeleteFunc(who, func(id string) bool { return !slices.Contains(s.principals, id) })
		}
		s.principals = who
	}
	return s, err
}

func (s selection) matches(a assignments.Assignment) bool {
	return s.principals == nil || slices.Contains(s.principals, arm.Fold(a.PrincipalID))
}

// list answers with the assignments at, above and below a scope. Below it, a caller sees
// only those that it may read.
func (g Assignments) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := findScope(r.Context(), g.Scopes, x, req)
	if err != nil {
		return err
	}
	p, err := g.Lists.Read(x)
	if err != nil {
		return err
	}
	selected, err := selectionOf(x)
	if err != nil {
		return err
	}
	return route.ListSource[assignments.Assignment]{
		Read: func(after string, limit int) ([]assignments.Assignment, error) {
			return g.read(r.Context(), at, selected, after, limit)
		},
		Key: keyOf,
		Keep: func(a assignments.Assignment) bool {
			return selected.matches(a) && req.Readable.Shows(assignments.ID(a.ScopeID, a.Name))
		},
		Show: func(a assignments.Assignment) any { return assignmentAt(at.Subscription, a) },
	}.Answer(w, x, g.Lists, p)
}

// The keys of assignments in a list order the configured ones first.
const (
	configuredFirst = "0"
	storedLater     = "1"
)

func keyOf(a assignments.Assignment) string {
	order := storedLater
	if isConfigured(a) {
		order = configuredFirst
	}
	key, err := json.Marshal([]string{order, a.Subscription, a.ScopeKey, a.Name})
	if err != nil {
		panic("roles: texts are not JSON: " + err.Error())
	}
	return string(key)
}

// read returns the assignments of a list after a key.
func (g Assignments) read(ctx context.Context, at place, s selection, after string, limit int) ([]assignments.Assignment, error) {
	var parts [4]string
	if after != "" {
		if err := json.Unmarshal([]byte(after), &parts); err != nil {
			return nil, route.InvalidSkipToken()
		}
	}
	var found []assignments.Assignment
	if parts[0] != storedLater {
		for _, a := range g.allConfigured(at, s.below) {
			if keyOf(a) > after {
				found = append(found, a)
			}
		}
		slices.SortFunc(found, func(a, b assignments.Assignment) int { return strings.Compare(keyOf(a), keyOf(b)) })
		if len(found) >= limit {
			return found[:limit], nil
		}
	}
	if at.TenantID == "" || s.principals != nil && len(s.principals) == 0 {
		return found, nil
	}
	q := assignments.Query{Scope: at.Scope, Above: true, Below: s.below, Principals: s.principals, Limit: limit - len(found)}
	if parts[0] == storedLater {
		q.After = &assignments.Assignment{TenantID: at.TenantID, Subscription: parts[1], ScopeKey: parts[2], Name: parts[3]}
	}
	stored, err := g.Roles.Assignments(ctx, q)
	return append(found, stored...), err
}
