package rbac

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/assignments"
	"portico/inventory/transaction"
)

// principalTypes are the kinds of principals. They are only for information: an
// assignment holds for the principal with the id, of whatever kind.
var principalTypes = []string{"User", "Group", "ServicePrincipal", "ForeignGroup", "Device"}

// firstUpdateVersion is the first api-version whose clients know that a PUT can change an
// assignment; for clients of earlier ones every answer but 201 is an error.
const firstUpdateVersion = "2020-08-01"

const (
	longestDescription = 1024
	longestIdentity    = 2048
)

// readAssignment reads an assignment at a scope from content. It ignores members that
// only the service sets, except for those that must agree with the URL.
func readAssignment(x *exchange.Exchange, content []byte, at place) (a assignments.Assignment, err error) {
	var sent assignmentBody
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		return a, fault
	}
	p := sent.Properties
	a = assignments.Assignment{
		ScopeID: at.ID, Host: at.Host, Name: arm.Fold(requestedName(x)), PrincipalID: arm.Fold(p.PrincipalID), PrincipalType: p.PrincipalType,
		Description: p.Description, DelegatedManagedIdentity: p.DelegatedManaged, CreatedBy: x.Principal.ObjectID, UpdatedBy: x.Principal.ObjectID,
	}
	want := route.Names{ID: assignments.ID(at.ID, a.Name), Name: a.Name, Type: assignmentsType}
	if fault := (route.Names{ID: sent.ID, Name: sent.Name, Type: sent.Type}).Check(want); fault != nil {
		return a, fault
	}
	if fault := checkAssignment(p, at); fault != nil {
		return a, fault
	}
	if a.PrincipalType = principalType(x, p); a.PrincipalType == "" {
		return a, arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The principal type is one of %v. Path 'properties.principalType'", principalTypes)).
			WithTarget("properties.principalType")
	}
	var fault *arm.Error
	if a.RoleDefinition, fault = definitionNamed(p.RoleDefinitionID); fault != nil {
		return a, fault
	}
	a.ETag = assignmentETag(a)
	return a, nil
}

func checkAssignment(p assignmentProperties, at place) *arm.Error {
	switch {
	case p.RoleDefinitionID == "":
		return missingMember("properties.roleDefinitionId")
	case p.PrincipalID == "":
		return missingMember("properties.principalId")
	case !arm.ValidGUID(p.PrincipalID):
		return arm.NewError(arm.InvalidPrincipalID, p.PrincipalID).WithTarget("properties.principalId")
	case p.Scope != "" && !arm.EqualFold(p.Scope, at.ID):
		return arm.NewError(arm.InvalidRequestContent, "The member 'properties.scope' is not that of the request URI. Path 'properties.scope'").
			WithTarget("properties.scope")
	case p.Condition != "" || p.ConditionVersion != "":
		// An assignment with an ignored condition would grant more than intended.
		return arm.NewError(arm.InvalidRequestContent, "").WithTarget("properties.condition").
			WithMessage("Conditions of role assignments are not supported: the assignment would grant more than its condition says. Leave out " +
				"'properties.condition' and 'properties.conditionVersion'.")
	case utf8.RuneCountInString(p.Description) > longestDescription:
		return route.TooLong("properties.description", len(p.Description), longestDescription)
	case len(p.DelegatedManaged) > longestIdentity:
		return route.TooLong("properties.delegatedManagedIdentityResourceId", len(p.DelegatedManaged), longestIdentity)
	}
	return nil
}

// principalType returns the type that an assignment gives for its principal, in the usual
// casing, or a type derived from what is known of it; "" if the given one does not exist.
func principalType(x *exchange.Exchange, p assignmentProperties) string {
	if p.PrincipalType == "" {
		if arm.EqualFold(p.PrincipalID, x.Principal.ObjectID) && x.Principal.Kind() == "Application" {
			return "ServicePrincipal"
		}
		return "User"
	}
	if i := slices.IndexFunc(principalTypes, func(t string) bool { return arm.EqualFold(t, p.PrincipalType) }); i >= 0 {
		return principalTypes[i]
	}
	return ""
}

// definitionNamed returns the GUID of the role definition that an id names, at any scope:
// the GUIDs of a tenant's definitions are unique.
func definitionNamed(id string) (string, *arm.Error) {
	fault := arm.NewError(arm.InvalidRoleDefinitionID, id).WithTarget("properties.roleDefinitionId")
	var p arm.Path
	if err := p.Parse(arm.PathOf(id)); err != nil || p.Hops() == 0 {
		return "", fault
	}
	hop := p.LastHop()
	if hop.Len() != 2 || !arm.EqualFold(hop.Namespace(), namespace) || !arm.EqualFold(hop.Segment(0), definitionsName) || !arm.ValidGUID(hop.Segment(1)) {
		return "", fault
	}
	return arm.Fold(hop.Segment(1)), nil
}

func (g Assignments) put(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := findScope(r.Context(), g.Scopes, x, req)
	if err != nil {
		return err
	}
	if err := at.needTenant(); err != nil {
		return err
	}
	if _, configured := g.findConfigured(at, requestedName(x)); configured {
		return arm.NewError(arm.RoleAssignmentUpdateNotPermitted)
	}
	if !arm.ValidGUID(requestedName(x)) {
		return arm.NewError(arm.InvalidRoleAssignmentID, requestedName(x)).WithTarget("roleAssignmentName")
	}
	next, contentErr := readAssignment(x, req.Content, at)
	if contentErr == nil {
		contentErr = g.checkAssignable(r.Context(), at, next)
	}
	conditions := route.Preconditions(r, x)
	a, created, err := g.Roles.PutAssignment(r.Context(), at.Scope, requestedName(x), func(current *assignments.Assignment) (*assignments.Assignment, error) {
		etag := ""
		if current != nil {
			etag = current.ETag
		}
		if err := cmp.Or(conditions(etag), contentErr); err != nil {
			return nil, err
		}
		if current == nil {
			return &next, nil
		}
		if fault := sameGrant(current, &next); fault != nil {
			return nil, fault
		}
		next.CreatedBy = current.CreatedBy
		return &next, nil
	})
	if err != nil {
		return assignmentRefusal(x, next, err)
	}
	created = created || x.Request.Query.APIVersion < firstUpdateVersion
	return route.AnswerTagged(w, r, x, route.StatusOf(created), a.ETag, assignmentAt(at.Subscription, a))
}

// sameGrant refuses an assignment with another role or principal than the current one,
// and names the member that differs.
func sameGrant(current, next *assignments.Assignment) error {
	var member string
	switch {
	case current.PrincipalID != next.PrincipalID:
		member = "properties.principalId"
	case current.RoleDefinition != next.RoleDefinition:
		member = "properties.roleDefinitionId"
	case current.PrincipalType != next.PrincipalType:
		member = "properties.principalType"
	default:
		return nil
	}
	return arm.NewError(arm.RoleAssignmentUpdateNotPermitted).WithTarget(member)
}

// checkAssignable refuses a role that cannot be assigned at a scope. If the role is
// changed at the same moment, the assignment does not count.
func (g Assignments) checkAssignable(ctx context.Context, at place, a assignments.Assignment) error {
	d, err := definitionOf(ctx, g.Roles, at.TenantID, a.RoleDefinition)
	if errors.Is(err, inventory.ErrNotFound) || err == nil && !d.AssignableAt(at.ID) {
		return noDefinition(a.RoleDefinition)
	}
	return err
}

// noDefinition refuses an assignment of a role that does not exist at its scope.
func noDefinition(id string) error {
	return arm.NewError(arm.RoleDefinitionDoesNotExist, id).WithStatus(http.StatusBadRequest).WithTarget("properties.roleDefinitionId")
}

func (g Assignments) delete(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := findScope(r.Context(), g.Scopes, x, req)
	if err != nil {
		return err
	}
	if _, configured := g.findConfigured(at, requestedName(x)); configured {
		return arm.NewError(arm.Conflict).
			WithMessage("The role assignment '%s' comes from the setting auth.owners of this service's configuration. It is removed there.", requestedName(x))
	}
	if !arm.ValidGUID(requestedName(x)) || at.TenantID == "" {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	conditions := route.Preconditions(r, x)
	var gone assignments.Assignment
	err = g.Roles.DeleteAssignment(r.Context(), at.Scope, requestedName(x), func(a assignments.Assignment) error {
		gone = a
		return conditions(a.ETag)
	})
	if errors.Is(err, inventory.ErrNotFound) {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	if err != nil {
		return admission.Refusal(x, err)
	}
	return x.Answer(w, http.StatusOK, assignmentAt(at.Subscription, gone))
}

// assignmentRefusal converts the inventory's refusal of an assignment to ARM's.
func assignmentRefusal(x *exchange.Exchange, a assignments.Assignment, err error) error {
	var quota *transaction.QuotaError
	switch {
	case errors.As(err, new(*assignments.ExistsError)):
		return arm.NewError(arm.RoleAssignmentExists)
	case errors.Is(err, assignments.ErrUpdate):
		return arm.NewError(arm.RoleAssignmentUpdateNotPermitted)
	case errors.Is(err, assignments.ErrDefinitionNotFound):
		return noDefinition(a.RoleDefinition)
	case errors.As(err, &quota):
		return arm.NewError(arm.RoleAssignmentLimitExceeded, quota.Limit)
	case errors.Is(err, inventory.ErrNotFound):
		return admission.Busy(a.ScopeID) // its resource went meanwhile
	}
	return admission.Refusal(x, err)
}
