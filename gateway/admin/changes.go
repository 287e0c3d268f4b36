package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory"
)

// Times of the change feed.
const (
	longestWait  = 60 * time.Second // of a page
	feedInterval = time.Second      // between two looks at the store
	longestFeed  = 10 * time.Minute // of a stream; its reader goes on by another
	feedWrite    = 10 * time.Second // for a reader to take an event
)

func (l *listener) changeRoutes() []route {
	return []route{{http.MethodGet, "/admin/changes", l.listChanges}}
}

// changes is a page of the change feed.
type changes struct {
	Value []events.CloudEvent `json:"value"`
	// Next is the token of the page behind this one.
	Next string `json:"next"`
}

// listChanges returns what has changed behind ?after=, a token; without one, from the
// first event that is kept. With ?wait= it waits for an event if there is none.
func (l *listener) listChanges(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	after, limit, err := feedPosition(r)
	if err != nil {
		return 0, nil, err
	}
	wait, err := feedWait(r.URL.Query())
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		found, err := l.changesAfter(r.Context(), after, limit)
		if err != nil {
			return 0, nil, err
		}
		if len(found) > 0 || !pause(ctx, feedInterval) {
			return http.StatusOK, pageOfChanges(found, after), nil
		}
	}
}

func pageOfChanges(found []events.Event, after int64) changes {
	page := changes{Value: make([]events.CloudEvent, len(found)), Next: feedToken(after)}
	for i, e := range found {
		page.Value[i], page.Next = e.CloudEvent(), feedToken(e.Number)
	}
	return page
}

// changesAfter numbers what has been committed, and returns what is behind a number.
func (l *listener) changesAfter(ctx context.Context, after int64, limit int) ([]events.Event, error) {
	if _, err := l.Store.NumberEvents(ctx, largestPage); err != nil {
		return nil, err
	}
	found, err := l.Store.EventsAfter(ctx, after, limit)
	if forgotten := new(inventory.EventsForgottenError); errors.As(err, &forgotten) {
		return nil, arm.NewError(arm.InvalidQueryParameter, "after", "events behind it are no longer kept; the first one that is has the token "+feedToken(forgotten.First-1)).
			About("after").WithStatus(http.StatusGone)
	}
	return found, err
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// A token is the number of the last event that was read. It says its version, so that
// another form may follow.
const tokenVersion = "1."

func feedToken(number int64) string { return tokenVersion + strconv.FormatInt(number, 10) }

func feedPosition(r *http.Request) (after int64, limit int, err error) {
	query := r.URL.Query()
	token := query.Get("after")
	if last := r.Header.Get("Last-Event-ID"); last != "" { // a stream that was interrupted
		token = last
	}
	if token != "" {
		number, ok := strings.CutPrefix(token, tokenVersion)
		if after, err = strconv.ParseInt(number, 10, 64); err != nil || !ok || after < 0 {
			return 0, 0, arm.NewError(arm.InvalidQueryParameter, "after", "it is a token of this feed").About("after")
		}
	}
	limit, err = pageSize(query)
	return after, limit, err
}

func feedWait(query url.Values) (time.Duration, error) {
	text := query.Get("wait")
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > longestWait {
		return 0, arm.NewError(arm.InvalidQueryParameter, "wait", "it is a time from 0s to "+longestWait.String()).About("wait")
	}
	return wait, nil
}

// streamChanges answers a reader that accepts server-sent events: one message for each
// event, whose id is the token behind it.
func (l *listener) streamChanges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/admin/changes" || !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			next.ServeHTTP(w, r)
			return
		}
		after, limit, err := feedPosition(r)
		if err == nil {
			// Before the answer begins: what is wrong is an error, not a stream.
			_, err = l.changesAfter(r.Context(), after, 1)
		}
		if err != nil {
			l.refuse(w, r, err)
			return
		}
		l.stream(w, r, after, limit)
	})
}

func (l *listener) stream(w http.ResponseWriter, r *http.Request, after int64, limit int) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	ctx, cancel := context.WithTimeout(r.Context(), longestFeed)
	defer cancel()
	for {
		found, err := l.changesAfter(ctx, after, limit)
		if err != nil {
			return // the reader comes back, and is told
		}
		message := ": waiting\n\n"
		for _, e := range found {
			if message, err = sentEvent(e); err != nil || !send(w, out, message) {
				return
			}
			after, message = e.Number, ""
		}
		if message != "" && !send(w, out, message) || len(found) == 0 && !pause(ctx, feedInterval) || l.Draining() {
			return
		}
	}
}

func sentEvent(e events.Event) (string, error) {
	told := e.CloudEvent()
	text, err := json.Marshal(told)
	return fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", feedToken(e.Number), told.Type, text), err
}

// send writes a message, for which the reader has a bounded time.
func send(w http.ResponseWriter, out *http.ResponseController, message string) bool {
	if out.SetWriteDeadline(time.Now().Add(feedWrite)) != nil {
		return false
	}
	if _, err := w.Write([]byte(message)); err != nil {
		return false
	}
	return out.Flush() == nil
}
