package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/gateway/admin/api"
	"portico/internal/timing"
)

// Bounds of the change feed.
const (
	longestWait  = 60 * time.Second // for a page
	feedInterval = time.Second      // between two reads of the store
	pageBytes    = 1 << 20          // of a page, without its last event
	mostExamined = 10_000           // events read for one page of matching ones
	readAtOnce   = 100              // events per query of the store
	// mostReading bounds concurrent readers, so that they do not use up the store's
	// connections.
	mostReading = 2
)

// listChanges lists the events after ?after=, a token; without one, the last ?last= events,
// or all that are kept. With ?wait= it waits for an event if there is none. With ?resource=
// it lists the history of one ID instead.
func (l *listener) listChanges(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	if query.Has("resource") {
		return l.listHistory(r.Context(), query)
	}
	wanted, err := l.feedQuery(r)
	if err != nil {
		return 0, nil, err
	}
	wait, err := feedWait(query)
	if err != nil {
		return 0, nil, err
	}
	if wait > 0 {
		leave, fault := l.waiting.add(r)
		if fault != nil {
			return 0, nil, fault
		}
		defer leave()
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		read, err := l.readFeed(r.Context(), wanted)
		if err != nil {
			return 0, nil, err
		}
		if len(read.events) > 0 || read.more || l.Draining() || timing.Sleep(ctx, feedInterval) != nil {
			return http.StatusOK, l.pageOfChanges(read), nil
		}
		if !l.stillAuthorized(r) {
			return 0, nil, arm.NewError(arm.AuthenticationFailed)
		}
		wanted.after, wanted.withoutToken = read.last, false
	}
}

func (l *listener) pageOfChanges(read feedPart) api.Changes {
	page := api.Changes{Value: make([]api.Change, len(read.events)), Next: l.feedToken(read.last)}
	for i, t := range read.events {
		page.Value[i].RawMessage = t.text
	}
	return page
}

// A token holds its version, the feed's id and the number of the last event that was read.
// The id differs after a restore, which assigns numbers a second time.
const (
	tokenVersion = "1."
	latestToken  = "latest" // the newest event
)

func (l *listener) feedToken(number int64) string {
	return tokenVersion + strconv.FormatInt(l.Store.Events.Feed(), 36) + "." + strconv.FormatInt(number, 10)
}

// readToken returns the number in a token of this feed. The error for a token of another feed
// has status 410.
func (l *listener) readToken(ctx context.Context, token string) (int64, error) {
	text, ok := strings.CutPrefix(token, tokenVersion)
	feed, text, _ := strings.Cut(text, ".")
	id, malformed := strconv.ParseInt(feed, 36, 64)
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || malformed != nil || !ok || number < 0 {
		return 0, arm.NewError(arm.InvalidQueryParameter, "after", "it must be a token of this feed, or '"+latestToken+"'").WithTarget("after")
	}
	if id != l.Store.Events.Feed() {
		first, err := l.earliest(ctx)
		if err != nil {
			return 0, err
		}
		return 0, l.eventsGone("the store has since been restored from a backup; the first stored event has the token ", first)
	}
	return number, nil
}

// feedQuery is a reader's query of the feed.
type feedQuery struct {
	after        int64
	withoutToken bool // starts after the forgotten events, if there are any
	limit        int
	subscription string   // folded; "" for all
	types        []string // of CloudEvents; none for all
}

func (l *listener) feedQuery(r *http.Request) (q feedQuery, err error) {
	query := r.URL.Query()
	if query.Has("after") && query.Has("last") {
		return q, arm.NewError(arm.InvalidQueryParameter, "last", "it cannot be combined with 'after'").WithTarget("last")
	}
	token := query.Get("after")
	if last := r.Header.Get("Last-Event-ID"); last != "" { // a stream that was interrupted
		token = last
	}
	switch {
	case token == "" && query.Has("last"):
		q.withoutToken = true
		q.after, err = l.beforeLast(r.Context(), query.Get("last"))
	case token == "":
		q.withoutToken = true
		q.after, err = l.earliest(r.Context())
	case token == latestToken:
		q.after, err = l.latest(r.Context())
	default:
		q.after, err = l.readToken(r.Context(), token)
	}
	if err != nil {
		return q, err
	}
	if sub := query.Get("subscription"); sub != "" {
		if !arm.ValidGUID(sub) {
			return q, arm.NewError(arm.InvalidQueryParameter, "subscription", "it must be the id of a subscription").WithTarget("subscription")
		}
		q.subscription = arm.Fold(sub)
	}
	q.types = query["type"]
	q.limit, err = pageSize(query)
	return q, err
}

// wantsEvent reports whether an event matches a query.
func (l *listener) wantsEvent(ctx context.Context, q feedQuery, e *events.Event, typ string) (bool, error) {
	if len(q.types) > 0 && !slices.Contains(q.types, typ) {
		return false, nil
	}
	if q.subscription == "" {
		return true, nil
	}
	return l.Store.Scopes.Concerns(ctx, e, q.subscription)
}

func feedWait(query url.Values) (time.Duration, error) {
	text := query.Get("wait")
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > longestWait {
		return 0, arm.NewError(arm.InvalidQueryParameter, "wait", "it must be a duration from 0s to "+longestWait.String()).WithTarget("wait")
	}
	return wait, nil
}

// listHistory lists the events of one ID, the newest first: at most ?limit= events, older
// than the one in the token ?after=.
func (l *listener) listHistory(ctx context.Context, query url.Values) (int, any, error) {
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	path, err := pathNamed(query.Get("resource"), "resource")
	if err != nil {
		return 0, nil, err
	}
	for _, other := range []string{"wait", "type", "subscription", "last"} {
		if query.Has(other) {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, other, "it cannot be combined with 'resource'").WithTarget(other)
		}
	}
	before := int64(0)
	if token := query.Get("after"); token != "" {
		if before, err = l.readToken(ctx, token); err != nil {
			return 0, nil, err
		}
	}
	if _, err := l.Store.Events.Number(ctx, largestPage); err != nil {
		return 0, nil, fmt.Errorf("number new events: %w", err)
	}
	found, err := l.Store.Events.OfResource(ctx, path.Subscription(), path.String(), before, limit+1) // is there more?
	if err != nil {
		return 0, nil, fmt.Errorf("read the events of a resource: %w", err)
	}
	page := api.Changes{Value: make([]api.Change, 0, min(len(found), limit))}
	for i, e := range found {
		if i == limit {
			page.NextLink = nextPage("/admin/changes", query, l.feedToken(found[i-1].Number))
			break
		}
		text, err := json.Marshal(changeOf(e))
		if err != nil {
			return 0, nil, err
		}
		page.Value = append(page.Value, api.Change{RawMessage: text})
	}
	return http.StatusOK, page, nil
}
