package proxy

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"portico/access"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/routing"
)

// recordPollURLs records where polls go. A URL that could not be recorded is routed by
// its path; a substitute has no other way and is dropped.
func (p *Proxy) recordPollURLs(ctx context.Context, x *exchange.Exchange, d *Resolved, urls *pollURLs) {
	urls.all = slices.DeleteFunc(urls.all, func(link pollURL) bool {
		if link.record == nil {
			return false
		}
		err := p.record(ctx, x, d, link)
		if err != nil {
			x.Warn("a polling URL was not recorded", err)
		}
		return err != nil && link.record.PollsAnotherURL()
	})
}

// record records where polls of a URL go. It refuses a further URL of an operation if
// there is no room: the operation can be polled by another one. The URLs of a write were
// admitted with it; learned URLs, and changes of a record, need no room.
func (p *Proxy) record(ctx context.Context, x *exchange.Exchange, d *Resolved, link pollURL) error {
	o := *link.record
	if link.learned {
		return p.Store.LearnOperation(ctx, o)
	}
	if x.Request.Reads() && (d.Operation == nil || o.Token != d.Operation.Token) {
		if err := p.Admission.CheckRecord(ctx, o.Subscription, o.TenantID, o.ObjectID); err != nil {
			return err
		}
	}
	return p.Store.RecordOperation(ctx, o)
}

// records returns the records of all polling URLs that need one.
func (l *pollURLs) records() (all []inventory.Operation) {
	for _, link := range l.all {
		if link.record != nil {
			all = append(all, *link.record)
		}
	}
	return all
}

// recordOf records which endpoint issued a polling URL, and to whom. It returns nil for
// a URL outside of the request's subscription, and for the polled URL itself.
func (p *Proxy) recordOf(x *exchange.Exchange, d *Resolved, link *url.URL) *inventory.Operation {
	q, fault := routing.Classify(p.Config.Map, http.MethodGet, link.EscapedPath(), link.RawQuery)
	if fault != nil || arm.Fold(q.Path.Subscription()) != x.Subscription() {
		return nil
	}
	record := p.newRecord(x, d)
	record.Token, record.Identity = routing.PollToken(q.Path.String(), q.Query), q.OperationIdentity()
	if d.Operation != nil && record.Token == routing.PollToken(x.Request.Path.String(), x.Request.Query) && d.Operation.HasToken(record.Token) {
		return nil
	}
	return &record
}

// newRecord is the record of a polling URL in the answer to a request, without the URL.
func (p *Proxy) newRecord(x *exchange.Exchange, d *Resolved) inventory.Operation {
	until := p.Store.Now().Add(p.Config.Operations.Records)
	if d.Operation != nil { // a further URL of the polled operation
		record := *d.Operation
		record.Target, record.StatusTarget, record.Substitute, record.Until = "", "", false, until
		return record
	}
	principal := x.Principal.In(d.Subscription.TenantID)
	if x.Request.Reads() { // the operation may be of another caller
		principal = access.Principal{}
	}
	record := inventory.Operation{
		Subscription: x.Subscription(),
		Method:       x.Request.Method,
		Namespace:    x.Request.Provider.Namespace,
		Region:       d.Region,
		APIVersion:   x.Request.Query.APIVersion,
		TenantID:     principal.TenantID,
		ObjectID:     principal.ObjectID,
		Origin:       x.Request.Path.Escaped(),
		Until:        until,
	}
	if x.Request.Type != nil {
		record.Type = x.Request.Type.Name
	}
	if d.Row != nil || d.Location != "" {
		record.Resource = x.Request.Key()
	}
	return record
}
