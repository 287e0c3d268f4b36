package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/resolve"
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
func (g *Gateway) deleteGroup(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	conditions := arm.ParsePreconditions(r.Header)
	check := func(group inventory.Group) error {
		if fault := conditions.Write(group.ETag, x.Request.Path.String()); fault != nil {
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
		return x.Answer(w, http.StatusOK, nil)
	}
	if err := g.admission.CheckOperation(r.Context(), x, c.Subscription); err != nil {
		return err
	}
	id := uuid.NewString()
	operation := g.polls.Record(x, c.Subscription, id)
	operation.Namespace, operation.Type, operation.Resource = "Microsoft.Resources", "resourceGroups", routing.GroupID(c.Subscription.ID, x.Request.Path.Group())
	_, err = g.store.BeginDeletion(r.Context(), c.Subscription.ID, x.Request.Path.Group(), inventory.DeletionOrder{
		Check: check,
		Payload: func(group inventory.Group) string {
			return groupdelete.Payload{
				Group: group.Name, Incarnation: group.Incarnation, Correlation: x.Identity.Correlation, Caller: x.Principal.In(c.Subscription.TenantID),
			}.String()
		},
		Operation: operation,
	})
	if err != nil {
		return groupRefusal(x, err)
	}
	return g.polls.Accept(w, x, "/subscriptions/"+c.Subscription.ID, id)
}

// closeEmpty closes the group of c if nothing is left in it. It waits for no
// provider longer than a client should.
func (g *Gateway) closeEmpty(ctx context.Context, x *exchange.Exchange, c ownCall, check func(inventory.Group) error) (closed bool, err error) {
	looking, cancel := context.WithTimeout(ctx, 2*g.config.Index.AskTimeout)
	defer cancel()
	emptiness := g.emptinessCheck(resolve.CallerOf(x))
	for range closingRounds {
		err := g.store.DeleteGroup(ctx, c.Subscription.ID, x.Request.Path.Group(), inventory.Closing{
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
			x.Warn("an empty group could not be looked at; a job will", failure)
			return false, nil
		}
	}
	return false, nil
}

// errDeleting is for a group whose deletion is under way.
var errDeleting = errors.New("the group is being deleted")

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

// emptinessCheck asks on a caller's behalf whether anything is left in a group.
func (g *Gateway) emptinessCheck(caller locate.Caller) *locate.EmptinessCheck {
	return &locate.EmptinessCheck{Prober: g.prober, Caller: caller, Timeout: g.config.Upstream.CallTimeout}
}
