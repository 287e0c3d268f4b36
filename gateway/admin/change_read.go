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

// feedPart is what was read of the feed.
type feedPart struct {
	events []feedEvent
	last   int64 // the number of the last event that was looked at
	more   bool  // the reading ended by a bound; there may be more
}

// feedEvent is an event in the form for readers.
type feedEvent struct {
	number int64
	typ    string
	text   []byte
}

// mostStarted is how often a reader without a token starts over because the first events
// were forgotten before it read any.
const mostStarted = 10

// readFeed numbers what has been committed, and returns what is wanted of what is behind
// a number, within the bounds of a page.
func (l *listener) readFeed(ctx context.Context, q feedQuery) (feedPart, error) {
	select {
	case l.reading <- struct{}{}:
		defer func() { <-l.reading }()
	case <-ctx.Done():
		return feedPart{}, ctx.Err()
	}
	read := feedPart{last: q.after}
	if _, err := l.Store.Events.Number(ctx, largestPage); err != nil {
		return read, fmt.Errorf("number new events: %w", err)
	}
	for size, examined, started := 0, 0, 1; ; {
		found, err := l.Store.Events.After(ctx, read.last, min(readAtOnce, q.limit))
		if err != nil {
			if forgotten, is := errors.AsType[*eventlog.ForgottenError](err); is {
				if examined > 0 { // answer with what was read; the next question reports the gap
					read.more = true
					return read, nil
				}
				if q.anywhere && started < mostStarted {
					started++
					read.last = forgotten.First - 1
					continue
				}
				err = l.gone("events behind it are no longer kept; the first one that is has the token ", forgotten.First-1)
			}
			return read, err
		}
		for _, e := range found {
			shown := changeOf(e)
			wanted, err := l.wants(ctx, q, &e, shown.Type)
			if err != nil {
				return read, fmt.Errorf("ask whom an event concerns: %w", err)
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

// changeOf is an event as operators see it: with the name of the caller that caused it.
func changeOf(e events.Event) events.CloudEvent {
	shown := e.CloudEvent()
	shown.Data.Name = e.Cause.Name
	return shown
}

// latest numbers what has been committed, and returns the number of the last event.
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

// beforeLast returns the number behind which the last so many events are, or all that are
// kept if they are fewer.
func (l *listener) beforeLast(ctx context.Context, text string) (int64, error) {
	many, err := strconv.ParseInt(text, 10, 64)
	if err != nil || many < 1 {
		return 0, arm.NewError(arm.InvalidQueryParameter, "last", "it is a number of events, from 1 on").About("last")
	}
	last, err := l.latest(ctx)
	if err != nil {
		return 0, err
	}
	first, err := l.earliest(ctx)
	return max(first, last-many), err
}

// earliest returns the number behind which no event is forgotten.
func (l *listener) earliest(ctx context.Context) (int64, error) {
	first, _, err := l.Store.Events.Numbers(ctx)
	return first - 1, err
}

// gone tells a reader who has missed events why, and where it can begin.
func (l *listener) gone(why string, begin int64) error {
	return arm.NewError(arm.InvalidQueryParameter, "after", why+l.feedToken(begin)).About("after").WithStatus(http.StatusGone)
}
