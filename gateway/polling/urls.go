// Package polling lets clients follow what goes on after their answer. Of Portico's own
// operations (own.go) it accepts the request, names the URL, says when to poll, and finds
// the job behind a poll; it knows no kind of them. Of the operations of providers it makes
// the polling URLs in answers lead to the front door (urls.go), by URLs of its own where
// clients could not use the provider's (substitute.go), and records where polls go
// (record.go). A poll goes to the endpoint that issued its URL (poll.go), or is answered by
// the status of the operation (by_status.go) or the resource that it works on
// (by_resource.go, outcome.go).
package polling

import (
	"context"
	"net/http"
	"net/url"

	"go.uber.org/zap"

	"portico/arm"
	"portico/config"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/inventory/polls"
	"portico/routing"
	"portico/upstream/answers"
)

// Forwarded are the operations of providers, whose polls the front door forwards.
type Forwarded struct {
	*Operations
	Config    *config.Config
	Resolver  *admission.Resolver
	Admission *admission.Admission
	Log       *zap.Logger
}

// pollingHeaders are the headers whose URLs clients follow with their token
// attached (async reference, 202 Accepted and Location Headers).
var pollingHeaders = []string{"Location", "Azure-Asyncoperation", "Operation-Location"}

// pollURL is a polling URL as the client gets it.
type pollURL struct {
	header, url string
	record      *polls.Operation // which says where polls of it go; nil: none is needed
	learned     bool             // the request did not begin the operation
}

// URLs are the polling URLs of one answer. They are found once, as finding them makes new
// ones with random ids.
type URLs struct {
	all []pollURL
	// noneSent: the provider sent none, and perhaps no Retry-After either.
	noneSent bool
}

// Guard makes the polling URLs of an answer lead to the front door, and records where
// polls of them go, unless found has them: those are recorded. No URL on a foreign host
// reaches a client, except for the Location of a redirect to a host that the map names.
func (f *Forwarded) Guard(ctx context.Context, h http.Header, x *exchange.Exchange, d *routing.Decision, status int, found *URLs) {
	urls := found
	switch {
	case urls == nil && !mayBePolled(h, status): // as nearly all answers to reads
		f.clampRetryAfter(h, status)
		return
	case urls == nil:
		urls = f.Find(h, x, d, status)
		f.recordAll(ctx, x, d, urls)
	}
	for _, name := range pollingHeaders {
		delete(h, name)
	}
	for _, link := range urls.all {
		h[link.header] = []string{link.url}
	}
	if urls.noneSent {
		f.pollAgain(h)
	}
	f.clampRetryAfter(h, status)
}

// mayBePolled reports whether an answer has polling URLs, or has to get some.
func mayBePolled(h http.Header, status int) bool {
	for _, name := range pollingHeaders {
		if _, sent := h[name]; sent {
			return true
		}
	}
	return status == http.StatusAccepted
}

// Find finds the polling URLs that the client of an answer gets. A 202 that names
// a status alone gets a Location as well, which some clients alone know. Another answer
// needs none: its PUT shows the resource, whose state tells of the end.
func (f *Forwarded) Find(h http.Header, x *exchange.Exchange, d *routing.Decision, status int) *URLs {
	urls := &URLs{}
	polled := "" // the first header that names the operation
	for _, name := range pollingHeaders {
		values, sent := h[name]
		if !sent {
			continue
		}
		if link, ok := f.pollURLOf(x, d, name, values[0], status); ok {
			urls.all = append(urls.all, link)
			if polled == "" && answers.NamesOperation(name, status) {
				polled = name
			}
		} else {
			f.Log.Warn("a polling URL on a foreign host was removed", x.LogFields(zap.String("header", name))...)
		}
	}
	switch {
	case status != http.StatusAccepted || polled == "Location" || !needsPollURL(x.Request):
	case polled == "":
		urls.noneSent = true
		urls.all = append(urls.all, f.substitutePollURL(x, d, "Location", ""), f.substitutePollURL(x, d, "Azure-Asyncoperation", ""))
	default:
		urls.all = append(urls.all, f.resultOfStatus(x, d, f.replayable(x, polled, h[polled][0])))
	}
	return urls
}

// needsPollURL reports whether a client cannot see the end of what was accepted without
// a URL to poll. After a PUT or PATCH without one, some clients GET the resource, which
// a create need not show yet, and others take the empty answer for the result.
func needsPollURL(q *routing.Request) bool {
	switch q.Method {
	case http.MethodDelete, http.MethodPost:
		return true
	case http.MethodPut, http.MethodPatch:
		return q.Class == routing.Instance
	}
	return false
}

// pollURLOf turns the URL of one header into the one that the client gets; ok is false
// if the client gets none.
func (f *Forwarded) pollURLOf(x *exchange.Exchange, d *routing.Decision, name, sent string, status int) (link pollURL, ok bool) {
	public, own := answers.OwnLink(sent, f.Public, d.Endpoint)
	redirect := redirects(status)
	polled := answers.NamesOperation(name, status)
	begins := polled && status >= 200 && status < 300 && !x.Request.Reads()
	goesOn := polled && d.Operation != nil && x.Request.Class == routing.Poll && (name == "Location") == pollsResult(x.Request, d.Operation)
	at := notServed
	if own {
		at = f.servedAs(x, public)
	}
	switch {
	case redirect && name == "Location" && !own:
		target, known := f.knownRedirect(x, sent)
		return pollURL{header: name, url: target}, known
	case own && (redirect || at != notServed || !begins && !goesOn):
		link = pollURL{header: name, url: public.String()}
		if polled && at == servedAsDeclared || (polled || mayContinue(x, d, status)) && at == servedAsOperation {
			link.record = f.recordOf(x, d, public)
			if link.learned = d.Operation == nil && x.Request.Reads(); link.learned && x.Subscription() == "" {
				link.record = nil // it would be any tenant's
			}
		}
		return link, true
	case begins:
		f.Log.Info("a polling URL that clients cannot use was replaced", x.LogFields(zap.String("header", name))...)
		return f.substitutePollURL(x, d, name, f.replayable(x, name, sent)), true
	case goesOn:
		return f.retarget(x, d, name, f.replayable(x, name, sent)), true
	}
	return link, false
}

// mayContinue reports whether clients may poll the Location of an answer that begins no
// operation: some poll that of a finished write, and the end of an operation may name
// its result.
func mayContinue(x *exchange.Exchange, d *routing.Decision, status int) bool {
	if d.Operation != nil {
		return status >= 200 && status < 400
	}
	return status >= 200 && status < 300 && !x.Request.Reads()
}

// serving is what the front door serves a URL as.
type serving uint8

const (
	notServed         serving = iota // a client cannot poll it
	servedAsResource                 // the resource that the request writes
	servedAsDeclared                 // a resource of a declared type, unless an operation has that URL
	servedAsOperation                // an operation
)

// servedAs decides what the front door serves a URL as. It must be an operation of the
// same provider and subscription, or the resource that the request writes, unless it
// deletes that.
func (f *Forwarded) servedAs(x *exchange.Exchange, link *url.URL) serving {
	q, fault := routing.Classify(f.Config.Map, http.MethodGet, link.EscapedPath(), link.RawQuery)
	if fault != nil || arm.Fold(q.Path.Subscription()) != x.Subscription() || len(link.RequestURI()) > maxPollURL {
		return notServed
	}
	if q.Class == routing.Instance && q.Key() == x.Request.Key() && x.Request.Class == routing.Instance {
		if x.Request.Method == http.MethodDelete || q.Check(f.Config.Map, "") != nil {
			return notServed
		}
		return servedAsResource
	}
	if !q.Pollable() || q.Provider != x.Request.Provider {
		return notServed
	}
	q.Class = routing.Poll
	switch {
	case q.Check(f.Config.Map, "") != nil:
		return notServed
	case q.Type != nil:
		return servedAsDeclared
	}
	return servedAsOperation
}

// maxPollURL is the longest request target that a client gets to poll: the headers of a
// request may take 16 KiB, and its token needs some of that.
const maxPollURL = 8 << 10
