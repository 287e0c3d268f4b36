package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"portico/gateway/exchange"
	"portico/inventory"
	"portico/upstream"
)

// pollingHeaders are the headers whose URLs clients follow with their token
// attached (async reference, 202 Accepted and Location Headers).
var pollingHeaders = []string{"Location", "Azure-Asyncoperation", "Operation-Location"}

// guardLinks makes the polling URLs of an answer lead to the front door, and
// remembers where polls of them go. A URL on a foreign host never reaches a
// client, but for the Location of a redirect to a host that the map names.
func (g *Gateway) guardLinks(ctx context.Context, h http.Header, x *exchange.Exchange, p proxied, status int) {
	links := p.links
	if links == nil {
		links = g.pollingLinks(h, x, p, status)
		g.remember(ctx, x, p, links)
	}
	for _, name := range pollingHeaders {
		delete(h, name)
	}
	for _, link := range links.all {
		h[link.header] = []string{link.url}
	}
	if links.unnamed && h.Get("Retry-After") == "" {
		g.polls.PollAgain(h)
	}
	g.clampRetryAfter(h, status)
}

// remember records polling URLs. Where that fails a URL's own path must do; one
// that stands for something else is withheld.
func (g *Gateway) remember(ctx context.Context, x *exchange.Exchange, p proxied, links *pollingLinks) {
	kept := links.all[:0]
	for _, link := range links.all {
		if link.record != nil {
			record := g.store.RecordOperation
			if link.learned {
				record = g.store.LearnOperation
			}
			err := g.roomForLink(ctx, x, p, link)
			if err == nil {
				err = record(ctx, *link.record)
			}
			if err != nil {
				x.Warn("a polling URL was not recorded", err)
			}
			if err != nil && link.record.Replays() {
				continue
			}
		}
		kept = append(kept, link)
	}
	links.all = kept
}

// roomForLink refuses to record a URL that did not come with the answer to a write,
// which was admitted, where there is no room for it: the operation has another one,
// by which it can be polled. What changes a record, or is nobody's, needs no room.
func (g *Gateway) roomForLink(ctx context.Context, x *exchange.Exchange, p proxied, link pollingLink) error {
	o := link.record
	if !x.Request.Reads() || link.learned || p.Operation != nil && o.Token == p.Operation.Token {
		return nil
	}
	return g.admission.CheckRecord(ctx, o.Subscription, o.TenantID, o.ObjectID)
}

// records are what is to be remembered of polling URLs.
func (l *pollingLinks) records() (all []inventory.Operation) {
	for _, link := range l.all {
		if link.record != nil {
			all = append(all, *link.record)
		}
	}
	return all
}

// finerRetry are further headers by which providers name a pause, in
// milliseconds: the contract knows none of them, but clients prefer them.
var finerRetry = []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"}

// longestRefusal is the longest pause that a provider can ask for with any other
// answer than that of an operation: quotas are counted by the hour.
const longestRefusal = time.Hour

// clampRetryAfter makes Retry-After an integer, and the only one: within the
// contract's bounds where an operation was accepted or goes on. Absent stays absent,
// and what cannot be read goes.
func (g *Gateway) clampRetryAfter(h http.Header, status int) {
	for _, name := range finerRetry {
		delete(h, name)
	}
	if len(h["Retry-After"]) == 0 {
		return
	}
	pause, ok := upstream.RetryAfter(h, time.Now())
	if !ok {
		delete(h, "Retry-After")
		return
	}
	least, most := time.Duration(0), longestRefusal
	if status == http.StatusOK || status == http.StatusCreated || status == http.StatusAccepted {
		least, most = g.config.Operations.RetryAfterMin, g.config.Operations.RetryAfterMax
	}
	pause = max(least, min(pause, most))
	h["Retry-After"] = []string{strconv.FormatInt(int64(pause/time.Second), 10)}
}

func quote(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		return []byte(`""`)
	}
	return text
}
