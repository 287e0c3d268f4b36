package polling

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"portico/access"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory/polls"
	"portico/routing"
	"portico/upstream/answers"
)

// recordURLs records where to send polls of the URLs. A URL that could not be recorded is
// routed by its path; a substitute cannot be, and is dropped.
func (f *Forwarded) recordURLs(ctx context.Context, x *exchange.Exchange, d *routing.Decision, urls *URLs) {
	urls.all = slices.DeleteFunc(urls.all, func(link pollURL) bool {
		if link.record == nil {
			return false
		}
		err := f.recordURL(ctx, x, d, link)
		if err != nil {
			x.Warn("a polling URL was not recorded", err)
		}
		return err != nil && link.record.PollsAnotherURL()
	})
}

// recordURL records where to send polls of a URL. It refuses a further URL of an
// operation if there is no room: the operation can be polled by another one. The URLs of
// a write were admitted with it; learned URLs, and changes of a record, need no room.
func (f *Forwarded) recordURL(ctx context.Context, x *exchange.Exchange, d *routing.Decision, link pollURL) error {
	o := *link.record
	if link.learned {
		return f.Store.Operations.Learn(ctx, o)
	}
	if x.Request.Reads() && (d.Operation == nil || o.Token != d.Operation.Token) {
		if err := f.Admission.CheckRecord(ctx, o.Subscription, o.TenantID, o.ObjectID); err != nil {
			return err
		}
	}
	return f.Store.Operations.Record(ctx, o)
}

// Records returns the records of all polling URLs that need one.
func (l *URLs) Records() (all []polls.Operation) {
	for _, link := range l.all {
		if link.record != nil {
			all = append(all, *link.record)
		}
	}
	return all
}

// recordOf returns a record of the endpoint that issued a polling URL and of the caller.
// It returns nil for a URL outside of the request's subscription, and for the polled URL
// itself.
func (f *Forwarded) recordOf(x *exchange.Exchange, d *routing.Decision, link *url.URL) *polls.Operation {
	q, fault := routing.Classify(f.Config.Map, http.MethodGet, link.EscapedPath(), link.RawQuery)
	if fault != nil || arm.Fold(q.Path.Subscription()) != x.Subscription() {
		return nil
	}
	record := f.newRecord(x, d)
	record.Token, record.Identity = routing.PollToken(q.Path.String(), q.Query), q.OperationIdentity()
	if d.Operation != nil && record.Token == routing.PollToken(x.Request.Path.String(), x.Request.Query) && d.Operation.HasToken(record.Token) {
		return nil
	}
	return &record
}

// newRecord returns the record of a polling URL in the answer to a request, without the
// URL.
func (f *Forwarded) newRecord(x *exchange.Exchange, d *routing.Decision) polls.Operation {
	until := f.Store.Now().Add(f.Settings.Records)
	if d.Operation != nil { // a further URL of the polled operation
		record := *d.Operation
		record.Target, record.StatusTarget, record.Substitute, record.Until = "", "", false, until
		return record
	}
	principal := x.Principal.In(d.Subscription.TenantID)
	if x.Request.Reads() { // another caller may have begun the operation
		principal = access.Principal{}
	}
	record := polls.Operation{
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

// PageLink records the link to the next page of an operation's result under the
// operation, and returns it. If the front door serves no operation at the link's path,
// the client gets a substitute.
func (f *Forwarded) PageLink(ctx context.Context, x *exchange.Exchange, d *routing.Decision, path, query string) string {
	next := answers.PublicLink(f.Public, path, query)
	link := pollURL{url: next}
	if target, own := answers.OwnLink(next, f.Public, d.Endpoint); own && f.servedAs(x, target) >= servedAsDeclared {
		link.record = f.recordOf(x, d, target)
	} else {
		link = f.substitutePollURL(x, d, "Location", strings.TrimPrefix(next, f.Public.Scheme+"://"+f.Public.Host))
	}
	if link.record == nil {
		return next
	}
	if err := f.recordURL(ctx, x, d, link); err != nil {
		x.Warn("the link of a page was not recorded", err)
		return next
	}
	return link.url
}
