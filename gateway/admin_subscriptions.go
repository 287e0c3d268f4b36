package gateway

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/inventory"
	"portico/operations/notify"
)

// adminSubscription is a subscription as operators see it.
type adminSubscription struct {
	ID          string `json:"id"`
	TenantID    string `json:"tenantId"`
	DisplayName string `json:"displayName"`
	State       string `json:"state"`
	OfferID     string `json:"offerId,omitempty"` // what providers know as quotaId
	PlacementID string `json:"locationPlacementId,omitempty"`
	// Features are full names. Left out they stay as they are, as clients register
	// for them too.
	Features []string `json:"registeredFeatures,omitempty"`
	// Covered is told when a subscription is made, and then stays: Portico is
	// the first that ever wrote to it. Left out it is so.
	Covered *bool `json:"covered,omitempty"`
	// Erased tells of a Deleted one that nothing is left of it, here or at any
	// provider, and that it can be made anew. It is not read.
	Erased bool `json:"erased,omitempty"`
	// Unconfirmed are regions that the map lacks, which will be told of the newest
	// state when it has them again: of an erased one, that it was deleted, and until
	// then it cannot be made anew. Shown of one subscription alone, and not read.
	Unconfirmed []string `json:"unconfirmed,omitempty"`
}

func adminOf(s inventory.Subscription) adminSubscription {
	return adminSubscription{
		ID: s.ID, TenantID: s.TenantID, DisplayName: s.DisplayName, State: s.State.String(), OfferID: s.OfferID,
		PlacementID: s.PlacementID, Features: s.Features, Covered: &s.Covered, Erased: s.Erased,
	}
}

func (g *Gateway) adminList(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	all, err := g.store.AllSubscriptions(r.Context(), "", 0)
	if err != nil {
		return 0, nil, err
	}
	l := list{Value: make([]any, 0, len(all))}
	for _, s := range all {
		l.Value = append(l.Value, adminOf(s))
	}
	return http.StatusOK, l, nil
}

func (g *Gateway) adminGet(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	id := mux.Vars(r)["id"]
	s, err := g.store.Subscription(r.Context(), id)
	if errors.Is(err, inventory.ErrNotFound) {
		return 0, nil, arm.NewError(arm.SubscriptionNotFound, id)
	}
	if err != nil {
		return 0, nil, err
	}
	shown := adminOf(s)
	shown.Unconfirmed, err = g.store.AbsentRegions(r.Context(), s.ID)
	return http.StatusOK, shown, err
}

// adminPut makes or changes a subscription, and has the providers told that must
// know.
func (g *Gateway) adminPut(w http.ResponseWriter, r *http.Request) (int, any, error) {
	id := mux.Vars(r)["id"]
	wanted, err := readSubscription(w, r, id)
	if err != nil {
		return 0, nil, err
	}
	stored, created, err := g.store.PutSubscription(r.Context(), wanted, notify.Targets(g.router.Map.Providers()...)...)
	var absent *inventory.AbsentError
	if errors.As(err, &absent) {
		return 0, nil, arm.NewError(arm.Conflict).Saying("The subscription '%s' was deleted while the map had no endpoint in '%s', "+
			"which was not told of that. Configure the location again; or retire it where it is gone for good: portico retire %s",
			id, strings.Join(absent.Regions, "', '"), absent.Regions[0]).About("state")
	}
	if errors.Is(err, inventory.ErrErasing) {
		fault := arm.NewError(arm.Conflict).Saying("The subscription '%s' is still being deleted: not every provider has confirmed that.", id).About("state")
		fault.RetryAfter = erasureRetry
		return 0, nil, fault
	}
	if err != nil {
		return 0, nil, err
	}
	g.runner.Nudge(inventory.NoticeJob)
	if !stored.Covered && stored.State != inventory.Deleted {
		// Also when it was made before: the order may have failed then.
		if err := g.sweeper.OrderUncovered(r.Context(), stored.ID); err != nil {
			return 0, nil, err
		}
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return status, adminOf(stored), nil
}

// erasureRetry is when it may be tried again to make a subscription anew.
const erasureRetry = 10 * time.Second

func readSubscription(w http.ResponseWriter, r *http.Request, id string) (s inventory.Subscription, err error) {
	if !arm.ValidGUID(id) {
		return s, arm.NewError(arm.InvalidSubscriptionID, id)
	}
	var sent adminSubscription
	if err := adminBody(w, r, &sent); err != nil {
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
		return s, arm.NewError(arm.InvalidRequestContent, err.Error()).About("state")
	case !arm.ValidGUID(sent.TenantID):
		return s, arm.NewError(arm.InvalidRequestContent, "tenantId is a GUID").About("tenantId")
	case sent.ID != "" && !arm.EqualFold(sent.ID, id):
		return s, arm.NewError(arm.InvalidRequestContent, "id is that of the URL").About("id")
	}
	for _, full := range sent.Features {
		if _, _, ok := arm.CutFeature(full); !ok {
			return s, arm.NewError(arm.InvalidRequestContent, "registeredFeatures are of the form Namespace/name").About("registeredFeatures")
		}
	}
	return inventory.Subscription{
		ID: id, TenantID: arm.Fold(sent.TenantID), DisplayName: sent.DisplayName, State: state, OfferID: sent.OfferID,
		PlacementID: sent.PlacementID, Features: sent.Features, Covered: sent.Covered == nil || *sent.Covered,
	}, nil
}
