package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"portico/gateway/admin/api"
)

// Bounds for reading the end of the feed.
const (
	lastRows = 100 // of a table without a given beginning
	// A search for a time begins firstBack events before the newest one; each further
	// step goes back stepFactor times as far.
	firstBack  = 1000
	stepFactor = 8
	// skew bounds how far the times of events may differ from their order.
	skew = time.Minute
)

func (g *changesQuery) readSince(now time.Time) error {
	if g.since == "" {
		return nil
	}
	if ago, err := time.ParseDuration(g.since); err == nil && ago >= 0 {
		g.began = now.Add(-ago)
		return nil
	}
	at, err := time.Parse(time.RFC3339, g.since)
	if err != nil {
		return fmt.Errorf("--since %q: want a duration such as 10m, or a time such as 2026-01-02T03:04:05Z", g.since)
	}
	g.began = at
	return nil
}

// recent reports whether the command shows the end of the feed.
func (g changesQuery) recent() bool {
	return g.resource == "" && !g.follow && (g.since != "" || g.after == "" && !g.format.ForPrograms())
}

// last reads at most most events from the end of the feed, or all since --since if most
// is 0 or less, and sets token to the token after them.
func (g changesQuery) last(ctx context.Context, c *api.Client, token *string, most int) (iter.Seq2[json.RawMessage, error], error) {
	newest, err := api.Get[api.Changes](ctx, c, changesPath, url.Values{"after": {"latest"}, "limit": {"1"}})
	if err != nil {
		return nil, err
	}
	if g.since != "" {
		if *token, err = g.tokenBefore(ctx, c, newest.Next); err != nil {
			return nil, err
		}
		all := g.notBefore(g.feed(ctx, c, token, 0))
		if most <= 0 {
			return all, nil
		}
		kept, err := lastOf(all, most)
		return elementsOf(kept), err
	}
	for back := int64(most); ; back *= stepFactor {
		begin := before(newest.Next, back)
		*token = begin
		kept, err := lastOf(g.feed(ctx, c, token, 0), most)
		if begin != "" && (isGone(err) || err == nil && len(kept) < most) {
			continue // too few matched, or that many are no longer kept
		}
		return elementsOf(kept), err
	}
}

// tokenBefore returns a token that precedes all events recorded since --since.
func (g changesQuery) tokenBefore(ctx context.Context, c *api.Client, newest string) (string, error) {
	for back := int64(firstBack); ; back *= stepFactor {
		token := before(newest, back)
		if token == "" {
			return "", nil
		}
		page, err := api.Get[api.Changes](ctx, c, changesPath, url.Values{"after": {token}, "limit": {"1"}})
		switch {
		case isGone(err):
			return "", nil
		case err != nil:
			return "", err
		case len(page.Value) == 0:
			continue
		}
		e, err := readChange(page.Value[0].RawMessage)
		if err != nil || e.Time.Before(g.began.Add(-skew)) {
			return token, err
		}
	}
}

// before returns the token that is back events before another one. It returns "", the
// first event that is kept, if there are not so many, or if the form of the token is
// unknown.
func before(token string, back int64) string {
	feed := token[:strings.LastIndexByte(token, '.')+1]
	number, err := strconv.ParseInt(token[len(feed):], 10, 64)
	if err != nil || !strings.HasPrefix(feed, "1.") || number <= back {
		return ""
	}
	return feed + strconv.FormatInt(number-back, 10)
}

// isGone reports whether the events after a token are no longer kept.
func isGone(err error) bool {
	refusal, ok := errors.AsType[*api.Refusal](err)
	return ok && refusal.Status == http.StatusGone
}

// notBefore drops the events before --since.
func (g changesQuery) notBefore(all iter.Seq2[json.RawMessage, error]) iter.Seq2[json.RawMessage, error] {
	if g.since == "" {
		return all
	}
	return func(yield func(json.RawMessage, error) bool) {
		for element, err := range all {
			if err == nil {
				e, unread := readChange(element)
				if unread == nil && e.Time.Before(g.began) {
					if g.resource != "" {
						return // the newest comes first
					}
					continue
				}
				err = unread
			}
			if !yield(element, err) {
				return
			}
		}
	}
}

// lastOf returns the last most elements.
func lastOf(all iter.Seq2[json.RawMessage, error], most int) (kept []json.RawMessage, err error) {
	for element, err := range all {
		if err != nil {
			return nil, err
		}
		if kept = append(kept, element); len(kept) >= 2*most {
			kept = slices.Clone(kept[len(kept)-most:])
		}
	}
	return kept[max(0, len(kept)-most):], nil
}

func elementsOf(kept []json.RawMessage) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, element := range kept {
			if !yield(element, nil) {
				return
			}
		}
	}
}
