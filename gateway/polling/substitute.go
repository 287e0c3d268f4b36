package polling

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory/polls"
	"portico/routing"
	"portico/upstream/answers"
)

// substitutePollURL returns one of Portico's own polling URLs for target, with a random
// id that appears nowhere else (async reference, Operation result rules). It has the form
// of providers' polling URLs and is routed like them.
func (f *Forwarded) substitutePollURL(x *exchange.Exchange, d *routing.Decision, header, target string) pollURL {
	kind := Statuses
	if header == "Location" {
		kind = Results
	}
	path := "/providers/" + x.Request.Provider.Namespace + "/locations/" + d.Region + "/" + kind + "/" + uuid.NewString()
	if subscription := x.Request.Path.Subscription(); subscription != "" {
		path = "/subscriptions/" + subscription + path
	}
	query := ""
	if x.Request.Query.APIVersion != "" {
		query = "api-version=" + x.Request.Query.APIVersion
	}
	record := f.newRecord(x, d)
	record.Token = routing.PollToken(path, routing.Query{})
	if q, fault := routing.Classify(f.Config.Map, http.MethodGet, path, ""); fault == nil {
		record.Identity = q.OperationIdentity()
	}
	record.Substitute, record.Target = true, target
	return pollURL{header: header, url: answers.PublicLink(f.Public, path, query), record: &record}
}

// resultOfStatus returns one of Portico's own polling URLs for the result of an operation
// if the provider offers only a status, at target.
func (f *Forwarded) resultOfStatus(x *exchange.Exchange, d *routing.Decision, target string) pollURL {
	link := f.substitutePollURL(x, d, "Location", "")
	link.record.StatusTarget = target
	return link
}

// retarget returns the polled URL again, which from now on stands for target.
func (f *Forwarded) retarget(x *exchange.Exchange, d *routing.Decision, header, target string) pollURL {
	link := pollURL{header: header, url: f.urlOf(x.Request)}
	if target != "" && target != d.Operation.Target {
		record := *d.Operation
		record.Target, record.Until = target, f.Store.Now().Add(f.Settings.Records)
		link.record = &record
	}
	return link
}

// replayable returns path and query of a polling URL for calls of the provider's
// endpoint, whatever host the URL names. If the URL cannot be called, it logs that and
// returns "". The URL is bounded by the headers of an answer, its path as a request's
// path.
func (f *Forwarded) replayable(x *exchange.Exchange, name, sent string) string {
	link, err := url.Parse(sent)
	var path arm.Path
	if err == nil {
		err = path.Parse(link.EscapedPath())
	}
	if err != nil || link.Opaque != "" || strings.ContainsRune(link.RawQuery, ' ') {
		f.Log.Warn("a polling URL cannot be called", x.LogFields(zap.String("header", name), zap.Int("length", len(sent)))...)
		return ""
	}
	if link.RawQuery == "" {
		return link.EscapedPath()
	}
	return link.EscapedPath() + "?" + link.RawQuery
}

// pollsResult reports whether a poll asks for the result of an operation rather than for
// its status. The path of a substitute shows which; of other URLs, only those for results
// are retargeted.
func pollsResult(q *routing.Request, o *polls.Operation) bool {
	hop := q.Path.LastHop()
	return !o.Substitute || arm.EqualFold(hop.Segment(hop.Len()-2), Results)
}
