package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/operations"
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
	if err := g.admitOperation(r.Context(), x, c.Subscription); err != nil {
		return err
	}
	id := uuid.NewString()
	operation := g.polls.Record(x, c.Subscription, id)
	operation.Namespace, operation.Type, operation.Resource = "Microsoft.Resources", "resourceGroups", routing.GroupID(c.Subscription.ID, x.Request.Path.Group())
	_, err = g.store.BeginDeletion(r.Context(), c.Subscription.ID, x.Request.Path.Group(), inventory.DeletionOrder{
		Check: check,
		Payload: func(group inventory.Group) string {
			return operations.DeletionPayload{
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
	var look lastLook
	for range closingRounds {
		err := g.store.DeleteGroup(ctx, c.Subscription.ID, x.Request.Path.Group(), inventory.Closing{
			Check: func(group inventory.Group) error {
				if group.State == inventory.GroupDeleting {
					return errDeleting
				}
				return check(group)
			},
			Last: look.judge,
		})
		var unlooked *unlooked
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, errDeleting), errors.As(err, new(*inventory.GroupNotEmptyError)):
			return false, nil
		case !errors.As(err, &unlooked):
			return false, err
		}
		if look, err = g.lookAgain(looking, x, c, unlooked); err != nil {
			x.Warn("an empty group could not be looked at; a job will", err)
			return false, nil
		}
	}
	return false, nil
}

// errDeleting is for a group whose deletion is under way.
var errDeleting = errors.New("the group is being deleted")

// groupDeletion is the kind of durable work that deletes groups.
func (g *Gateway) groupDeletion() operations.GroupDeletion {
	o := g.config.GroupDelete
	return operations.GroupDeletion{
		Asker: g.asker, LastLook: func(p operations.DeletionPayload) operations.LastLook { return &lookOfJob{gateway: g, payload: p} },
		Sender: g.sender, Region: g.config.Server.Region, PerEndpoint: o.PerEndpoint, AtEndpoint: int(float64(o.PerEndpoint) / g.config.Limits.CallerShare), PerJob: o.PerJob,
		Budget: o.TransientBudget, Limit: o.Limit, SendWithin: g.config.Index.SendWithin, CallLimit: g.config.Upstream.CallTimeout + g.config.Index.CallMargin,
		Floor: g.config.Index.PollFloor, Log: g.log,
	}
}

// lookOfJob is the last look on behalf of a job, and of who began it.
type lookOfJob struct {
	gateway *Gateway
	payload operations.DeletionPayload
	look    lastLook
}

// Judge implements operations.LastLook.
func (l *lookOfJob) Judge(group inventory.Group, touched []inventory.Touch) error {
	return l.look.judge(group, touched)
}

// Look implements operations.LastLook.
func (l *lookOfJob) Look(ctx context.Context, refusal error) (bool, error) {
	var at *unlooked
	if !errors.As(refusal, &at) {
		return false, nil
	}
	g := l.gateway
	subscription, err := g.store.Subscription(ctx, at.group.Subscription)
	if err != nil {
		return true, err
	}
	q, fault := routing.ClassifyID(g.router.Map, http.MethodDelete, routing.GroupID(subscription.ID, at.group.Name))
	if fault != nil {
		return true, fault
	}
	x := exchange.New(g.exchanges)
	x.Principal, x.Request, x.ForJob = l.payload.Caller, q, true
	x.Identity, _ = tracing.Identify(http.Header{tracing.CorrelationHeader: {l.payload.Correlation}}, g.config.Server.Region, x.Started)
	l.look, err = g.lookAgain(ctx, x, ownCall{Decision: routing.Decision{Subscription: subscription}}, at)
	return true, err
}
