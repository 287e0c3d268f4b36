package frontdoor

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/internal/timing"
	"portico/inventory/eventlog"
	"portico/routing"
	"portico/upstream/answers"
)

const changesType = "Microsoft.Resources/changes"

// history serves the changes of one ID: a subscription, a group or a resource, whether or
// not it still exists. A group's history does not include its members'.
type history struct {
	store *eventlog.Log
	lists route.Lists
}

// Routes implements Resource. A history outlives its group.
func (g history) Routes() []route.Route {
	const action = changesType + "/read"
	return []route.Route{
		{Method: http.MethodGet, Matches: changesPath(1), Action: action, OutlivesGroup: true, Handle: g.list},
		{Method: http.MethodGet, Matches: changesPath(2), Action: action, OutlivesGroup: true, Handle: g.get},
	}
}

// changesPath matches paths whose last hop is changes with the given number of segments:
// one for all changes of a scope, two for one of them.
func changesPath(segments int) func(*routing.Request) bool {
	return func(q *routing.Request) bool {
		return q.Path.Subscription() != "" && route.EndsIn(q, "Microsoft.Resources", "changes", segments)
	}
}

// changedScope returns the folded ID before the last hop of a path.
func changedScope(x *exchange.Exchange) string {
	path := &x.Request.Path
	return arm.Fold(path.Prefix(path.LastHop().Start()))
}

// source returns the events of the subscription that a request names.
func (g history) source(req route.Request) eventSource {
	return eventSource{g.store, req.Subscription.ID, req.Subscription.TenantID}
}

// list lists the changes of an ID, the newest first.
func (g history) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, err := g.lists.Read(x)
	if err != nil {
		return err
	}
	from, until, fault := readPeriod(x.Request.Query)
	if fault != nil {
		return fault
	}
	if _, err := g.store.Number(r.Context(), eventsAtOnce); err != nil {
		return fmt.Errorf("number new events: %w", err)
	}
	// A subscription that was erased and created again does not show the old one's
	// events.
	since := timing.Later(from, req.Subscription.Created)
	source := g.source(req)
	return newestEvents{
		read: func(before int64, limit int) ([]events.Event, error) {
			return source.read(r.Context(), changedScope(x), before, limit)
		},
		since: since,
		matches: func(e events.Event) bool {
			return source.concerns(e) && !e.Refused() && (until.IsZero() || !e.At.After(until))
		},
		show: func(e events.Event) any { return g.show(x, e) },
	}.answer(w, x, g.lists, p)
}

func (g history) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	name := x.Request.Path.LastHop().Segment(1)
	absent := arm.NewError(arm.ResourceNotFound, changesType+"/"+name, x.Request.Path.Group())
	digits, _, _ := strings.Cut(name, "_")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 1 {
		return absent
	}
	source := g.source(req)
	found, err := source.read(r.Context(), changedScope(x), number+1, 1)
	if err != nil {
		return err
	}
	if len(found) == 0 || !source.concerns(found[0]) || found[0].Refused() || !arm.EqualFold(changeName(found[0]), name) ||
		found[0].At.Before(req.Subscription.Created) {
		return absent
	}
	return x.Answer(w, http.StatusOK, g.show(x, found[0]))
}

// readPeriod reads the times between which changes are listed, both included. The names
// come from Azure's Change Analysis.
func readPeriod(q routing.Query) (from, until time.Time, fault *arm.Error) {
	for name, bound := range map[string]*time.Time{"$startTime": &from, "$endTime": &until} {
		text, given := q.Get(name)
		if !given {
			continue
		}
		var err error
		if *bound, err = time.Parse(time.RFC3339, text); err != nil {
			return from, until, arm.NewError(arm.InvalidQueryParameter, name, "it is a time such as 2024-05-01T00:00:00Z").WithTarget(name)
		}
	}
	if _, given := q.Get("$filter"); given {
		return from, until, arm.NewError(arm.InvalidQueryParameter, "$filter", "changes can be asked for by $startTime and $endTime").WithTarget("$filter")
	}
	return from, until, nil
}

func (g history) show(x *exchange.Exchange, e events.Event) changeBody {
	body := changeOf(e)
	// The history under the old ID ends with the move; under the new one it begins.
	switch p := &body.Properties; {
	case p.MovedFrom != "":
		p.MovedChanges = g.link(x, p.MovedFrom, "$endTime", e.At)
	case p.MovedTo != "":
		p.MovedChanges = g.link(x, p.MovedTo, "$startTime", e.At)
	}
	return body
}

// link returns the URL of the history of another ID, up to a time or from then on.
func (g history) link(x *exchange.Exchange, id, bound string, at time.Time) string {
	path := url.URL{Path: id + "/providers/" + changesType}
	query := "api-version=" + url.QueryEscape(x.Request.Query.APIVersion) + "&" + url.QueryEscape(bound) + "=" +
		url.QueryEscape(at.UTC().Format(time.RFC3339Nano))
	return answers.PublicLink(g.lists.Public, path.EscapedPath(), query)
}
