package frontdoor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"portico/events"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/internal/timing"
	"portico/inventory/eventlog"
)

// activityLog serves the events of a subscription: changes, their callers and outcomes.
type activityLog struct {
	store *eventlog.Log
	lists route.Lists
}

// readEvents is the action that a caller needs to see events, at the resources they are
// about.
const readEvents = "Microsoft.Insights/eventtypes/values/read"

// Routes implements Resource.
func (g activityLog) Routes() []route.Route {
	return []route.Route{
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/providers/microsoft.insights/eventtypes/management/values",
			Action: readEvents, Partly: true, Handle: g.listOfSubscription,
		},
		{Method: http.MethodGet, Path: "/providers/microsoft.insights/eventtypes/management/values", Action: readEvents, Handle: g.listOfTenant},
		{
			Method: http.MethodGet, Path: "/providers/microsoft.insights/eventcategories",
			Open: "what kinds of events there are is no secret", Handle: g.categories,
		},
	}
}

// categories lists the kinds of events.
func (g activityLog) categories(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
	return x.Answer(w, http.StatusOK, exchange.List{Value: []any{unlocalized(administrative)}})
}

func (g activityLog) listOfSubscription(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	// A subscription that was erased and created again does not show the old one's
	// events.
	source := eventSource{g.store, req.Subscription.ID, req.Subscription.TenantID}
	return g.list(w, r, x, eventQuery{eventSource: source, since: req.Subscription.Created, readable: req.Readable})
}

// listOfTenant lists the events of a tenant's own resources, and of calls to providers
// outside of subscriptions.
func (g activityLog) listOfTenant(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	return g.list(w, r, x, eventQuery{eventSource: eventSource{store: g.store, tenant: x.Principal.TenantID}, readable: req.Readable})
}

// eventQuery selects the events of a source since a time that the caller may see.
type eventQuery struct {
	eventSource
	since    time.Time
	readable *authorize.Readable
}

// mayShow reports whether the caller may see an event: a custom role is visible to
// callers that may read one of its assignable scopes.
func (o eventQuery) mayShow(e events.Event) bool {
	return o.concerns(e) && (o.readable.Shows(e.Resource) || slices.ContainsFunc(e.AssignableIn(o.subscription), o.readable.Shows))
}

func (g activityLog) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, query eventQuery) error {
	p, err := g.lists.Read(x)
	if err != nil {
		return err
	}
	text, _ := x.Request.Query.Get("$filter")
	wanted, fault := readEventFilter(text)
	if fault != nil {
		return fault
	}
	chosen, _ := x.Request.Query.Get("$select")
	shape, fault := readEventShape(chosen)
	if fault != nil {
		return fault
	}
	if _, err := g.store.Number(r.Context(), eventsAtOnce); err != nil {
		return fmt.Errorf("number new events: %w", err)
	}
	return newestEvents{
		read: g.reader(r.Context(), query.eventSource, wanted), since: timing.Later(wanted.from, query.since),
		matches: func(e events.Event) bool { return wanted.match(e) && query.mayShow(e) },
		show:    func(e events.Event) any { return shape.apply(eventOf(e)) },
	}.answer(w, x, g.lists, p)
}

// reader returns a function that reads events before a number, 0 for the newest, by the
// index that fits the filter.
func (g activityLog) reader(ctx context.Context, source eventSource, wanted eventFilter) func(before int64, limit int) ([]events.Event, error) {
	key := wanted.resource()
	return func(before int64, limit int) ([]events.Event, error) {
		if before == 0 && !wanted.until.IsZero() && key == "" {
			var err error
			if before, err = g.lastUntil(ctx, source.partition(), wanted.until.Add(numberSlack)); err != nil {
				return nil, err
			}
		}
		return source.read(ctx, key, before, limit)
	}
}

// searchGap is the number of events that are read one by one rather than searched
// further.
const searchGap = 256

// lastUntil returns a number such that no event with it or a higher one is as old as
// until; 0 if the newest event is. It uses a binary search: the log may be large, and the
// time long ago.
func (g activityLog) lastUntil(ctx context.Context, partition string, until time.Time) (int64, error) {
	late, err := g.store.OfSubscription(ctx, partition, 0, 1)
	if err != nil || len(late) == 0 || !late[0].At.After(until) {
		return 0, err
	}
	early, number := int64(0), late[0].Number
	for number-early > searchGap {
		middle := early + (number-early)/2
		found, err := g.store.OfSubscription(ctx, partition, middle+1, 1)
		if err != nil {
			return 0, fmt.Errorf("search the events of a subscription: %w", err)
		}
		if len(found) > 0 && found[0].At.After(until) {
			number = found[0].Number
		} else {
			early = middle
		}
	}
	return number, nil
}
