package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"portico/arm"
	"portico/inventory"
	"portico/routing"
)

// askedAtOnce bounds the questions to providers on behalf of one group delete.
const askedAtOnce = 8

// closingRounds is how often one request tries to close a group: what it asked
// of providers may each time have left something new to look at.
const closingRounds = 4

// deleteGroup deletes a group that is empty, by the index and by its providers'
// own word.
func (g *Gateway) deleteGroup(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	conditions := arm.ParsePreconditions(r.Header)
	name := x.request.Path.Group()
	err := g.closeGroup(r.Context(), x, c, func(group inventory.Group) error {
		if fault := conditions.Write(group.ETag, x.request.Path.String()); fault != nil {
			return fault
		}
		if group.State != inventory.GroupActive {
			return arm.NewError(arm.ResourceGroupBeingDeleted, group.Name).About("resourceGroupName")
		}
		return nil
	})
	var notEmpty *inventory.GroupNotEmptyError
	switch {
	case errors.As(err, &notEmpty) && len(notEmpty.Resources)+len(notEmpty.Strays) > 0:
		return deletionBlocked(name, notEmpty)
	case errors.As(err, &notEmpty), errors.As(err, new(*unlooked)):
		fault := arm.NewError(arm.Conflict).About(x.request.Path.String()).Because(err)
		fault.RetryAfter = conflictRetry
		return fault
	case err != nil:
		return groupRefusal(x, err)
	}
	return g.answer(w, x, http.StatusOK, nil)
}

// closeGroup closes the group of c if nothing is left in it. Members of which
// the index is not sure are asked for, so that a client that has deleted
// everything is not told otherwise; and before it goes, its collections are
// looked at wherever something may lie that the index does not know.
func (g *Gateway) closeGroup(ctx context.Context, x *exchange, c ownCall, check func(inventory.Group) error) (err error) {
	var look lastLook
	asked := false
	for range closingRounds {
		err = g.store.DeleteGroup(ctx, c.Subscription.ID, x.request.Path.Group(), inventory.Closing{Check: check, Last: look.judge})
		var notEmpty *inventory.GroupNotEmptyError
		var unlooked *unlooked
		switch {
		case errors.As(err, &unlooked):
			if look, err = g.lookAgain(ctx, x, c, unlooked); err != nil {
				return err
			}
			err = unlooked // unless a further round closes the group
		case errors.As(err, &notEmpty) && !asked:
			asked = true
			if !g.askMembers(ctx, x, c, notEmpty.Strays) {
				return err
			}
		default:
			return err
		}
	}
	return err
}

func deletionBlocked(name string, left *inventory.GroupNotEmptyError) *arm.Error {
	var short []string
	var details []arm.Error
	remains := func(id, how string) {
		if i := strings.Index(strings.ToLower(id), "/providers/"); i >= 0 {
			short = append(short, id[i+len("/providers/"):])
		}
		details = append(details, arm.Error{Code: arm.Conflict, Message: how, Target: id})
	}
	for _, id := range left.Resources {
		remains(id, "The resource still exists. Delete it first.")
	}
	for _, stray := range left.Strays {
		remains(stray.ID, fmt.Sprintf("The resource still exists in the location '%s', where requests for it do not go. Its provider has to delete it there first.", stray.Region))
	}
	slices.Sort(short)
	fault := arm.NewError(arm.ResourceGroupDeletionBlocked, name, strings.Join(slices.Compact(short), ","), uuid.NewString())
	fault.Details = details
	return fault
}

// askMembers asks for the group's rows that are not plainly alive and for its
// strays, and reports whether any of them is gone.
func (g *Gateway) askMembers(ctx context.Context, x *exchange, c ownCall, strays []inventory.Stray) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*g.config.Index.AskTimeout)
	defer cancel()
	rows, err := g.store.Resources(ctx, inventory.ResourceQuery{
		Subscription: c.Subscription.ID, Group: x.request.Path.Group(), Limit: g.config.Limits.ResourcesPerTypeAndGroup,
	})
	if err != nil {
		g.note(x, "the resources of a group could not be listed", err)
		return false
	}
	rows = slices.DeleteFunc(rows, func(row inventory.Resource) bool { return !row.Doubtful() })
	var fewer atomic.Bool
	count := func(gone bool, err error) {
		if err != nil {
			g.note(x, "a resource could not be asked for", err)
		}
		if gone {
			fewer.Store(true)
		}
	}
	eachOf(askedAtOnce, rows, func(_ int, row inventory.Resource) {
		count(g.ask(ctx, x, c.Subscription.TenantID, row))
	})
	eachOf(askedAtOnce, strays, func(_ int, stray inventory.Stray) { count(g.askStray(ctx, x, c, stray)) })
	return fewer.Load()
}

// askStray asks whether a stray is still there, and forgets it when it is not.
func (g *Gateway) askStray(ctx context.Context, x *exchange, c ownCall, stray inventory.Stray) (gone bool, err error) {
	sought, fault := g.soughtByID(c, stray.ID)
	if fault != nil {
		return false, fault
	}
	endpoint := sought.Type.Endpoint(stray.Region)
	if endpoint == nil {
		return false, fmt.Errorf("the map has no endpoint for %s in %s", stray.Type, stray.Region)
	}
	seen, fault := g.sight(ctx, x, sought, endpoint)
	if fault != nil {
		return false, fault
	}
	if seen != nil {
		return false, nil
	}
	return g.store.ForgetStray(ctx, stray)
}

// soughtByID is what is needed to ask for a resource of the group of c that is
// known by its ID alone.
func (g *Gateway) soughtByID(c ownCall, id string) (routing.Sought, *arm.Error) {
	q, fault := routing.Classify(g.router.Map, http.MethodGet, id, "")
	if fault == nil && (q.Class != routing.Instance || q.Type == nil) {
		fault = q.NotFound()
	}
	if fault != nil {
		return routing.Sought{}, fault
	}
	return routing.Sought{
		Subscription: c.Subscription, Group: c.Group, Type: q.Type, ID: id, Key: q.Key(), APIVersion: q.Type.APIVersions[0],
	}, nil
}
