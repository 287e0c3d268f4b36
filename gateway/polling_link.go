package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/operations/async"
	"portico/routing"
)

// pollingLink is a URL of an answer as its client gets it.
type pollingLink struct {
	header, url string
	record      *inventory.Operation // of where polls of it go; nil: nothing is to be recorded
	learned     bool                 // the answer named it without beginning what it is of
}

// pollingLinks are those of one answer. They are found once, for some are made
// up on the way.
type pollingLinks struct {
	all []pollingLink
	// unnamed: the provider named none, and may not have said when to come back
	// either.
	unnamed bool
}

// pollingLinks finds the URLs that the client of an answer is to have.
func (g *Gateway) pollingLinks(h http.Header, x *exchange.Exchange, p proxied, status int) *pollingLinks {
	links := &pollingLinks{}
	polled := false
	for _, name := range pollingHeaders {
		values, sent := h[name]
		if !sent {
			continue
		}
		if link, fit := g.pollingLink(x, p, name, values[0], status); fit {
			links.all = append(links.all, link)
			polled = polled || async.Named(name, status)
		} else {
			g.log.Warn("a polling URL on a foreign host was removed", zap.String("header", name),
				zap.String("provider", x.Namespace()), zap.String("region", p.Region), zap.String("correlationId", x.Identity.Correlation))
		}
	}
	if status == http.StatusAccepted && !polled && lost(x.Request) {
		links.unnamed = true
		links.all = append(links.all, g.standIn(x, p, "Location", ""), g.standIn(x, p, "Azure-Asyncoperation", ""))
	}
	return links
}

// lost tells that clients cannot find the end of what was accepted without a URL
// to poll. Of a PUT or PATCH some ask for the resource then, which a create need
// not show yet, and others take the empty answer for it; where it is of no
// resource, they are all that there is to ask.
func lost(q *routing.Request) bool {
	switch q.Method {
	case http.MethodDelete, http.MethodPost:
		return true
	case http.MethodPut, http.MethodPatch:
		return q.Class == routing.Instance
	}
	return false
}

// pollingLink makes of one header's URL what the client gets; fit is false
// where that is nothing.
func (g *Gateway) pollingLink(x *exchange.Exchange, p proxied, name, sent string, status int) (link pollingLink, fit bool) {
	public, own := g.publicForm(sent, p)
	redirect := redirects(status)
	polled := async.Named(name, status)
	begins := polled && status >= 200 && status < 300 && !x.Request.Reads()
	goesOn := polled && p.Operation != nil && x.Request.Class == routing.Poll && (name == "Location") == asksResult(x.Request, p.Operation)
	at := nowhere
	if own {
		at = g.servedAs(x, public)
	}
	switch {
	case redirect && name == "Location" && !own:
		target, known := g.knownRedirect(x, sent)
		return pollingLink{header: name, url: target}, known
	case own && (redirect || at != nowhere || !begins && !goesOn):
		link = pollingLink{header: name, url: public.String()}
		if polled && at == asDeclared || (polled || leadsOn(x, p, status)) && at == asOperation {
			link.record = g.operation(x, p, public)
			if link.learned = p.Operation == nil && x.Request.Reads(); link.learned && x.Subscription() == "" {
				link.record = nil // it would be any tenant's
			}
		}
		return link, true
	case begins:
		g.log.Info("a polling URL that clients cannot use was replaced", zap.String("header", name),
			zap.String("provider", x.Namespace()), zap.String("region", p.Region), zap.String("correlationId", x.Identity.Correlation))
		return g.standIn(x, p, name, g.replayable(x, p, name, sent)), true
	case goesOn:
		return g.goOn(x, p, name, g.replayable(x, p, name, sent)), true
	}
	return link, false
}

// publicForm returns a polling URL as it is on the front door, and whether it
// may be: it names the front door, the provider's own endpoint, or no host.
func (g *Gateway) publicForm(link string, p proxied) (*url.URL, bool) {
	return async.Target(link, g.public, p.Endpoint)
}

// leadsOn tells whether the Location of an answer that names no operation may be
// where a client goes on with one: some poll that of a finished write, and the end
// of an operation may name its result.
func leadsOn(x *exchange.Exchange, p proxied, status int) bool {
	if p.Operation != nil {
		return status >= 200 && status < 400
	}
	return status >= 200 && status < 300 && !x.Request.Reads()
}

// serving is what the front door serves a URL as.
type serving uint8

const (
	nowhere     serving = iota // as nothing that a client could poll
	asItself                   // as the resource that is written to
	asDeclared                 // as what its type says, unless an operation is recorded by it
	asOperation                // as an operation alone
)

// servedAs tells what the front door serves a URL as to those who may see it:
// an operation of the same subscription, or of none as well, or the resource that is
// written to, unless that goes. No provider names what is another's.
func (g *Gateway) servedAs(x *exchange.Exchange, link *url.URL) serving {
	q, fault := routing.Classify(g.router.Map, http.MethodGet, link.EscapedPath(), link.RawQuery)
	if fault != nil || arm.Fold(q.Path.Subscription()) != x.Subscription() || len(link.RequestURI()) > longestPolled {
		return nowhere
	}
	if q.Class == routing.Instance && q.Key() == x.Request.Key() && x.Request.Class == routing.Instance {
		if x.Request.Method == http.MethodDelete || q.Check(g.router.Map, "") != nil {
			return nowhere
		}
		return asItself
	}
	if !q.Pollable() || q.Provider != x.Request.Provider {
		return nowhere
	}
	q.Class = routing.Poll
	switch {
	case q.Check(g.router.Map, "") != nil:
		return nowhere
	case q.Type != nil:
		return asDeclared
	}
	return asOperation
}

// longestPolled is the longest request target that a client is given to poll: of
// the 16 KiB that the headers of a request may take, its token needs some.
const longestPolled = 8 << 10

// replayable is the path and query of a polling URL that can be asked for at its
// provider's endpoint, whatever host it names; empty where there is none, of which
// the log tells. It may be as long as the headers of an answer, and its path as
// long as that of a request.
func (g *Gateway) replayable(x *exchange.Exchange, p proxied, name, sent string) string {
	link, err := url.Parse(sent)
	var path arm.Path
	if err == nil {
		err = path.Parse(link.EscapedPath())
	}
	if err != nil || link.Opaque != "" || strings.ContainsRune(link.RawQuery, ' ') {
		g.log.Warn("a polling URL cannot be asked for", zap.String("header", name), zap.Int("length", len(sent)),
			zap.String("provider", x.Namespace()), zap.String("region", p.Region), zap.String("correlationId", x.Identity.Correlation))
		return ""
	}
	if link.RawQuery == "" {
		return link.EscapedPath()
	}
	return link.EscapedPath() + "?" + link.RawQuery
}

// standIn makes a polling URL of Portico's own, with a random id that appears
// nowhere else (async reference, Operation result rules). It has the form in
// which providers name theirs, so it is routed like those.
func (g *Gateway) standIn(x *exchange.Exchange, p proxied, header, target string) pollingLink {
	kind := polling.Statuses
	if header == "Location" {
		kind = polling.Results
	}
	path := "/providers/" + x.Request.Provider.Namespace + "/locations/" + p.Region + "/" + kind + "/" + uuid.NewString()
	if subscription := x.Request.Path.Subscription(); subscription != "" {
		path = "/subscriptions/" + subscription + path
	}
	query := ""
	if x.Request.Query.APIVersion != "" {
		query = "api-version=" + x.Request.Query.APIVersion
	}
	record := g.newOperation(x, p)
	record.Token = routing.PollToken(path, routing.Query{})
	if q, fault := routing.Classify(g.router.Map, http.MethodGet, path, ""); fault == nil {
		record.Identity = q.OperationIdentity()
	}
	record.StandsIn, record.Target = true, target
	return pollingLink{header: header, url: fanout.PublicLink(g.public, path, query), record: &record}
}

// asksResult tells whether a poll asks for the result of an operation, and not
// for its status, where that is for the front door to know: of its own URLs,
// and of those by which it goes on with the URLs of results.
func asksResult(q *routing.Request, o *inventory.Operation) bool {
	hop := q.Path.LastHop()
	return !o.StandsIn || arm.EqualFold(hop.Segment(hop.Len()-2), polling.Results)
}

// goOn has the URL that is being polled stand for the one that its provider
// names from now on.
func (g *Gateway) goOn(x *exchange.Exchange, p proxied, header, target string) pollingLink {
	link := pollingLink{header: header, url: g.publicURI(x.Request)}
	if target != "" && target != p.Operation.Target {
		record := *p.Operation
		record.Target, record.Until = target, g.store.Time().Add(g.config.Operations.Records)
		link.record = &record
	}
	return link
}

// operation tells which endpoint a polling URL was issued by, and on whose
// behalf; nothing of one that is not of the request's subscription, nor of the
// one that is being polled.
func (g *Gateway) operation(x *exchange.Exchange, p proxied, link *url.URL) *inventory.Operation {
	q, fault := routing.Classify(g.router.Map, http.MethodGet, link.EscapedPath(), link.RawQuery)
	if fault != nil || arm.Fold(q.Path.Subscription()) != x.Subscription() {
		return nil
	}
	record := g.newOperation(x, p)
	record.Token, record.Identity = routing.PollToken(q.Path.String(), q.Query), q.OperationIdentity()
	if p.Operation != nil && record.Token == routing.PollToken(x.Request.Path.String(), x.Request.Query) && p.Operation.RecordedBy(record.Token) {
		return nil
	}
	return &record
}

// newOperation is the record of a polling URL that the request's answer names,
// but for the URL.
func (g *Gateway) newOperation(x *exchange.Exchange, p proxied) inventory.Operation {
	until := g.store.Time().Add(g.config.Operations.Records)
	if p.Operation != nil { // a poll that names a further URL of the same operation
		record := *p.Operation
		record.Target, record.StandsIn, record.Until = "", false, until
		return record
	}
	principal := x.Principal.In(p.Subscription.TenantID)
	if x.Request.Reads() { // somebody else may have begun it
		principal = access.Principal{}
	}
	record := inventory.Operation{
		Subscription: x.Subscription(),
		Method:       x.Request.Method,
		Namespace:    x.Request.Provider.Namespace,
		Region:       p.Region,
		APIVersion:   x.Request.Query.APIVersion,
		TenantID:     principal.TenantID,
		ObjectID:     principal.ObjectID,
		Origin:       x.Request.Path.Escaped(),
		Until:        until,
	}
	if x.Request.Type != nil {
		record.Type = x.Request.Type.Name
	}
	if p.Row != nil || p.Location != "" {
		record.Resource = x.Request.Key()
	}
	return record
}
