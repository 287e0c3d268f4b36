package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
)

func subscriptionOf(s inventory.Subscription) api.Subscription {
	return api.Subscription{
		ID: s.ID, TenantID: s.TenantID, DisplayName: s.DisplayName, State: s.State.String(), OfferID: s.OfferID,
		PlacementID: s.PlacementID, Features: s.Features, Covered: &s.Covered, Erased: s.Erased,
	}
}

// listSubscriptions lists the subscriptions of all tenants, at most ?limit= after ?after=, an
// id.
func (l *listener) listSubscriptions(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	all, err := l.Store.AllSubscriptions(r.Context(), query.Get("after"), limit+1)
	return http.StatusOK, pageOf("/admin/subscriptions", query, all, limit, subscriptionOf, func(last inventory.Subscription) string { return last.ID }), err
}

func (l *listener) getSubscription(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	id := mux.Vars(r)["id"]
	s, err := l.Store.Subscription(r.Context(), id)
	if errors.Is(err, inventory.ErrNotFound) {
		return 0, nil, arm.NewError(arm.SubscriptionNotFound, id)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read a subscription: %w", err)
	}
	shown := subscriptionOf(s)
	shown.Unconfirmed, err = l.Store.Notices.UnnotifiedRegions(r.Context(), s.ID)
	return http.StatusOK, shown, err
}

// putSubscription creates or changes a subscription and has the providers notified.
func (l *listener) putSubscription(w http.ResponseWriter, r *http.Request) (int, any, error) {
	id := mux.Vars(r)["id"]
	wanted, err := readSubscription(w, r, id)
	if err != nil {
		return 0, nil, err
	}
	stored, created, err := l.Store.PutSubscription(r.Context(), wanted, l.Targets...)
	if absent, ok := errors.AsType[*inventory.UnnotifiedRegionsError](err); ok {
		return 0, nil, arm.NewError(arm.Conflict).WithMessage("The subscription '%s' was deleted while the map had no endpoint in '%s', so that "+
			"location was not notified. Configure the location again, or, if it is gone for good, retire it: portico retire %s",
			id, strings.Join(absent.Regions, "', '"), absent.Regions[0]).WithTarget("state")
	}
	if errors.Is(err, inventory.ErrErasing) {
		fault := arm.NewError(arm.Conflict).WithMessage("The subscription '%s' is still being deleted: not every provider has confirmed the deletion.", id).WithTarget("state")
		fault.RetryAfter = erasureRetry
		return 0, nil, fault
	}
	if err != nil {
		return 0, nil, err
	}
	l.Jobs.Nudge(inventory.NoticeJob)
	if !stored.Covered && stored.State != inventory.Deleted {
		// Also if it existed before: the order may have failed then.
		if err := l.Sweeps.OrderUncovered(r.Context(), stored.ID); err != nil {
			return 0, nil, err
		}
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return status, subscriptionOf(stored), nil
}

// erasureRetry is the Retry-After for a PUT of a subscription that is being erased.
const erasureRetry = 10 * time.Second

func readSubscription(w http.ResponseWriter, r *http.Request, id string) (s inventory.Subscription, err error) {
	if !arm.ValidGUID(id) {
		return s, arm.NewError(arm.InvalidSubscriptionID, id)
	}
	var sent api.Subscription
	if err := readBody(w, r, &sent); err != nil {
		return s, err
	}
	if sent.State == "" {
		sent.State = inventory.Enabled.String()
	}
	if sent.DisplayName == "" {
		sent.DisplayName = id
	}
	state, err := inventory.ParseSubscriptionState(sent.State)
	switch {
	case err != nil:
		return s, arm.NewError(arm.InvalidRequestContent, err.Error()).WithTarget("state")
	case !arm.ValidGUID(sent.TenantID):
		return s, arm.NewError(arm.InvalidRequestContent, "tenantId must be a GUID").WithTarget("tenantId")
	case sent.ID != "" && !arm.EqualFold(sent.ID, id):
		return s, arm.NewError(arm.InvalidRequestContent, "id must match the URL").WithTarget("id")
	}
	for _, full := range sent.Features {
		if _, _, ok := arm.CutFeature(full); !ok {
			return s, arm.NewError(arm.InvalidRequestContent, "registeredFeatures must have the form Namespace/name").WithTarget("registeredFeatures")
		}
	}
	return inventory.Subscription{
		ID: id, TenantID: arm.Fold(sent.TenantID), DisplayName: sent.DisplayName, State: state, OfferID: sent.OfferID,
		PlacementID: sent.PlacementID, Features: sent.Features, Covered: sent.Covered == nil || *sent.Covered,
	}, nil
}
