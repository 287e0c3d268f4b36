package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"portico/arm"
	"portico/events"
	"portico/inventory/eventlog"
)

// feedPart is a part of the feed as read from the store.
type feedPart struct {
	events []feedEvent
	last   int64 // the number of the last event examined
	more   bool  // reading stopped at a bound; there may be more events
}

// feedEvent is an event as rendered for readers.
type feedEvent struct {
	number int64
	typ    string
	text   []byte
}

// maxStarts bounds how often a reader without a token starts over because the first events
// were forgotten before it read any.
const maxStarts = 10

// readFeed numbers the committed events and returns those after q.after that match q, within
// the bounds of a page.
func (l *listener) readFeed(ctx context.Context, q feedQuery) (feedPart, error) {
	select {
	case l.feedReads <- struct{}{}:
		defer func() { <-l.feedReads }()
	case <-ctx.Done():
		return feedPart{}, ctx.Err()
	}
	read := feedPart{last: q.after}
	if _, err := l.Store.Events.Number(ctx, largestPage); err != nil {
		return read, fmt.Errorf("number new events: %w", err)
	}
	for size, examined, starts := 0, 0, 1; ; {
		found, err := l.Store.Events.After(ctx, read.last, min(readAtOnce, q.limit))
		if err != nil {
			if forgotten, is := errors.AsType[*eventlog.ForgottenError](err); is {
				if examined > 0 { // return these events; the next request reports the gap
					read.more = true
					return read, nil
				}
				if q.withoutToken && starts < maxStarts {
					starts++
					read.last = forgotten.First - 1
					continue
				}
				err = l.eventsGone("events after it are no longer stored; the first stored event has the token ", forgotten.First-1)
			}
			return read, err
		}
		for _, e := range found {
			shown := changeOf(e)
			wanted, err := l.wantsEvent(ctx, q, &e, shown.Type)
			if err != nil {
				return read, fmt.Errorf("find the readers of an event: %w", err)
			}
			if wanted {
				text, err := json.Marshal(shown)
				if err != nil {
					return read, err
				}
				read.events, size = append(read.events, feedEvent{e.Number, shown.Type, text}), size+len(text)
			}
			read.last = e.Number
			if examined++; len(read.events) == q.limit || size >= pageBytes || examined == mostExamined {
				read.more = true
				return read, nil
			}
		}
		if len(found) < min(readAtOnce, q.limit) {
			return read, nil
		}
	}
}

// changeOf returns an event for operators, with the name of the caller who caused it.
func changeOf(e events.Event) events.CloudEvent {
	shown := e.CloudEvent()
	shown.Data.Name = e.Cause.Name
	return shown
}

// latest numbers the committed events and returns the number of the last one.
func (l *listener) latest(ctx context.Context) (int64, error) {
	for range mostExamined / largestPage {
		n, err := l.Store.Events.Number(ctx, largestPage)
		if err != nil {
			return 0, fmt.Errorf("number new events: %w", err)
		}
		if n < largestPage {
			break
		}
	}
	_, last, err := l.Store.Events.Numbers(ctx)
	return last, err
}

// beforeLast parses text as a number n of events and returns the number of the event before
// the last n, or before the first one that is kept.
func (l *listener) beforeLast(ctx context.Context, text string) (int64, error) {
	many, err := strconv.ParseInt(text, 10, 64)
	if err != nil || many < 1 {
		return 0, arm.NewError(arm.InvalidQueryParameter, "last", "it must be a number of events, at least 1").WithTarget("last")
	}
	last, err := l.latest(ctx)
	if err != nil {
		return 0, err
	}
	first, err := l.earliest(ctx)
	return max(first, last-many), err
}

// earliest returns the number before the first event that is kept.
func (l *listener) earliest(ctx context.Context) (int64, error) {
	first, _, err := l.Store.Events.Numbers(ctx)
	return first - 1, err
}

// eventsGone returns the error for a reader that has missed events: why, and the token it can
// start from.
func (l *listener) eventsGone(why string, begin int64) error {
	return arm.NewError(arm.InvalidQueryParameter, "after", why+l.feedToken(begin)).WithTarget("after").WithStatus(http.StatusGone)
}
