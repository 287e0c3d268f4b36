package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/fanout"
	"portico/inventory"
	"portico/locate"
	"portico/operations/groupdelete"
	"portico/routing"
	"portico/tracing"
)

// closingRounds is how often one request tries to close a group: what it looked
// at may each time have brought something new to look at.
const closingRounds = 4

// deleteGroup deletes a group. One in which nothing is left goes at once, if its
// providers say so within the time of a question or two; any other is marked,
// and deleted by a job.
func (g *Gateway) deleteGroup(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	conditions := arm.ParsePreconditions(r.Header)
	check := func(group inventory.Group) error {
		if fault := conditions.Write(group.ETag, x.request.Path.String()); fault != nil {
			return fault
		}
		if group.State == inventory.GroupMoving {
			return routing.GroupClosed(group.State, group.Name)
		}
		return nil
	}
	closed, err := g.closeEmpty(r.Context(), x, c, check)
	switch {
	case err != nil:
		return groupRefusal(x, err)
	case closed:
		return g.answer(w, x, http.StatusOK, nil)
	}
	if err := g.admitOperation(r.Context(), x, c.Subscription); err != nil {
		return err
	}
	id, link := g.ownOperation(x, c)
	principal := x.principal.In(c.Subscription.TenantID)
	_, err = g.store.BeginDeletion(r.Context(), c.Subscription.ID, x.request.Path.Group(), inventory.DeletionOrder{
		Check: check,
		Payload: func(group inventory.Group) string {
			return groupdelete.Payload{
				Group: group.Name, Incarnation: group.Incarnation, Correlation: x.identity.Correlation, Caller: principal,
			}.String()
		},
		Operation: inventory.Operation{
			Token: ownToken(id), Method: http.MethodDelete, Namespace: "Microsoft.Resources", Type: "resourceGroups",
			Resource: routing.GroupID(c.Subscription.ID, x.request.Path.Group()), APIVersion: x.request.Query.APIVersion,
			TenantID: principal.TenantID, ObjectID: principal.ObjectID, Until: g.store.Time().Add(g.config.Operations.Records),
		},
	})
	if err != nil {
		return groupRefusal(x, err)
	}
	g.pollHere(w.Header(), link)
	return g.answer(w, x, http.StatusAccepted, nil)
}

// closeEmpty closes the group of c if nothing is left in it. It waits for no
// provider longer than a client should.
func (g *Gateway) closeEmpty(ctx context.Context, x *exchange, c ownCall, check func(inventory.Group) error) (closed bool, err error) {
	looking, cancel := context.WithTimeout(ctx, 2*g.config.Index.AskTimeout)
	defer cancel()
	emptiness := g.emptinessCheck(callerFrom(x))
	for range closingRounds {
		err := g.store.DeleteGroup(ctx, c.Subscription.ID, x.request.Path.Group(), inventory.Closing{
			Check: func(group inventory.Group) error {
				if group.State == inventory.GroupDeleting {
					return errDeleting
				}
				return check(group)
			},
			Last: emptiness.Judge,
		})
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, errDeleting), errors.As(err, new(*inventory.GroupNotEmptyError)):
			return false, nil
		}
		looked, failure := emptiness.Look(looking, err)
		if !looked {
			return false, err
		}
		if failure != nil {
			g.note(x, "an empty group could not be looked at; a job will", failure)
			return false, nil
		}
	}
	return false, nil
}

// errDeleting is for a group whose deletion is under way.
var errDeleting = errors.New("the group is being deleted")

// ownOperation makes the id of an operation of Portico's own, which appears
// nowhere but in its URLs, and tells those.
func (g *Gateway) ownOperation(x *exchange, c ownCall) (id string, link func(kind string) string) {
	id = uuid.NewString()
	return id, func(kind string) string {
		return fanout.PublicLink(g.public, "/subscriptions/"+c.Subscription.ID+"/"+kind+"/"+id, "api-version="+x.request.Query.APIVersion)
	}
}

// deletionCheck checks a group's emptiness on behalf of whoever began its deletion.
func (g *Gateway) deletionCheck(p groupdelete.Payload) groupdelete.EmptinessCheck {
	return g.emptinessCheck(g.deletionCaller(p))
}

// deletionCaller is the caller who began a deletion, as its job acts for them.
func (g *Gateway) deletionCaller(p groupdelete.Payload) locate.Caller {
	// No client sent the header, so there is nothing to refuse.
	identity, _ := tracing.Identify(http.Header{tracing.CorrelationHeader: {p.Correlation}}, g.config.Server.Region, time.Now())
	return locate.Caller{Principal: p.Caller, Identity: identity}
}
