package groups

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs"
	"portico/jobs/groupdelete"
	"portico/probe"
	"portico/routing"
)

// Deletions serves the deletion of groups.
type Deletions struct {
	Store       *inventory.Store
	Admission   *admission.Admission
	Polls       *polling.Operations
	Prober      probe.Prober
	AskTimeout  time.Duration
	CallTimeout time.Duration
}

// Routes returns the route that deletes a group.
func (g Deletions) Routes() []route.Route {
	return []route.Route{{
		Method: http.MethodDelete, Path: onePath,
		Action: "Microsoft.Resources/subscriptions/resourceGroups/delete", EndsAllBelow: true, Handle: g.delete,
	}}
}

// closingRounds bounds how often one request tries to close a group: each attempt may
// find something new to check.
const closingRounds = 4

// delete deletes a group: at once if its providers confirm in time that it is empty,
// otherwise by a job.
func (g Deletions) delete(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	conditions := route.Preconditions(r, x)
	check := func(group inventory.Group) error {
		if err := conditions(group.ETag); err != nil || group.State != index.GroupMoving {
			return err
		}
		return routing.GroupClosed(group.State, group.Name)
	}
	closed, err := g.closeEmpty(r.Context(), x, req, check)
	switch {
	case err != nil:
		return Refusal(x, err)
	case closed:
		return x.Answer(w, http.StatusOK, nil)
	}
	if err := g.Admission.CheckOperation(r.Context(), x, &req.Subscription); err != nil {
		return err
	}
	id := uuid.NewString()
	operation := g.Polls.Record(x, req.Subscription, id)
	operation.Namespace, operation.Type, operation.Resource = namespace, "resourceGroups", routing.GroupID(req.Subscription.ID, x.Request.Path.Group())
	job, err := g.Store.Deletions.Begin(r.Context(), req.Subscription.ID, x.Request.Path.Group(), inventory.DeletionRequest{
		Check: check,
		Payload: func(group inventory.Group) string {
			return groupdelete.Payload{
				Group: group.Name, Incarnation: group.Incarnation,
				Commission: commission(x, req.Subscription.TenantID),
			}.String()
		},
		Operation: operation,
	})
	if err != nil {
		return Refusal(x, err)
	}
	return g.Polls.Accept(w, r, x, id, job, answerOf(w, x))
}

// closeEmpty closes the group of a request if it is empty. It waits for providers no
// longer than a client should have to wait.
func (g Deletions) closeEmpty(ctx context.Context, x *exchange.Exchange, req route.Request, check func(inventory.Group) error) (closed bool, err error) {
	looking, cancel := context.WithTimeout(ctx, 2*g.AskTimeout)
	defer cancel()
	emptiness := &probe.EmptinessCheck{Prober: g.Prober, Identity: x.Identity, Share: x.Caller(), Timeout: g.CallTimeout, Subscription: req.Subscription}
	for range closingRounds {
		err := g.Store.DeleteGroup(ctx, req.Subscription.ID, x.Request.Path.Group(), inventory.DeleteGroupConditions{
			Check: func(group inventory.Group) error {
				if group.State == index.GroupDeleting {
					return errDeleting
				}
				return check(group)
			},
			CheckWrittenRegions: emptiness.Allow,
		})
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, errDeleting), errors.As(err, new(*inventory.GroupNotEmptyError)):
			return false, nil
		}
		looked, failure := emptiness.Scan(looking, err)
		if !looked {
			return false, err
		}
		if failure != nil {
			x.Warn("could not check whether a group is empty; a job will", failure)
			return false, nil
		}
	}
	return false, nil
}

// errDeleting reports a group whose deletion is under way.
var errDeleting = errors.New("the group is being deleted")

// commission returns the request as its job records it, with the caller as it is in a
// tenant.
func commission(x *exchange.Exchange, tenant string) jobs.Commission {
	return jobs.Commission{
		Correlation: x.Identity.Correlation, Caller: x.Principal.In(tenant),
		Request: jobs.Request{
			ID: x.Identity.Request, Client: x.Identity.Client, Address: x.ClientAddress(), Method: x.Request.Method, URI: x.Path,
		},
	}
}
