// Package polling lets clients follow operations that continue after their answer. For
// Portico's own operations (own.go) it accepts the request, sets the URL and the pause,
// and finds the job that a poll asks for; it knows no kind of job. For the operations of
// providers it makes the polling URLs in answers lead to the front door (urls.go), with
// URLs of its own if clients could not use the provider's (substitute.go), and records
// where to send polls (record.go). A poll goes to the endpoint that issued its URL
// (poll.go), or is answered by the status of the operation (by_status.go) or by the
// resource that it works on (by_resource.go, outcome.go).
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

// Forwarded polls the operations of providers: it forwards polls to their endpoints.
type Forwarded struct {
	*Operations
	Config    *config.Config
	Resolver  *admission.Resolver
	Admission *admission.Admission
	Log       *zap.Logger
}

// pollingHeaders are the headers whose URLs clients follow with their token attached
// (async reference, 202 Accepted and Location Headers).
var pollingHeaders = []string{"Location", "Azure-Asyncoperation", "Operation-Location"}

// pollURL is a polling URL as the client gets it.
type pollURL struct {
	header, url string
	record      *polls.Operation // where to send polls of it; nil: no record is needed
	learned     bool             // the request did not begin the operation
}

// URLs are the polling URLs of one answer. Find them only once: each search makes new
// random ids.
type URLs struct {
	all []pollURL
	// noneSent: the provider sent no URL, and perhaps no Retry-After either.
	noneSent bool
}

// Guard makes the polling URLs of an answer lead to the front door, and records where to
// send polls. If found is not nil, it has the URLs, and they are recorded already. No URL
// on a foreign host reaches a client, except the Location of a redirect to a host that
// the map names.
func (f *Forwarded) Guard(ctx context.Context, h http.Header, x *exchange.Exchange, d *routing.Decision, status int, found *URLs) {
	urls := found
	switch {
	case urls == nil && !mayBePolled(h, status): // nearly all answers to reads
		f.clampRetryAfter(h, status)
		return
	case urls == nil:
		urls = f.Find(h, x, d, status)
		f.recordURLs(ctx, x, d, urls)
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

// mayBePolled reports whether an answer has polling URLs, or needs some.
func mayBePolled(h http.Header, status int) bool {
	for _, name := range pollingHeaders {
		if _, sent := h[name]; sent {
			return true
		}
	}
	return status == http.StatusAccepted
}

// Find returns the polling URLs for the client of an answer. A 202 with only a status URL
// gets a Location as well, as some clients know nothing else. Other answers need none:
// the resource that they show has a state.
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

// needsPollURL reports whether a client needs a URL to see the end of an accepted
// request. After a PUT or PATCH without one, some clients GET the resource, which a
// create need not show yet, and others take the empty answer for the result.
func needsPollURL(q *routing.Request) bool {
	switch q.Method {
	case http.MethodDelete, http.MethodPost:
		return true
	case http.MethodPut, http.MethodPatch:
		return q.Class == routing.Instance
	}
	return false
}

// pollURLOf converts the URL of one header to the one for the client; ok is false if the
// client gets none.
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
// operation: some poll the Location of a finished write, and the end of an operation may
// name its result.
func mayContinue(x *exchange.Exchange, d *routing.Decision, status int) bool {
	if d.Operation != nil {
		return status >= 200 && status < 400
	}
	return status >= 200 && status < 300 && !x.Request.Reads()
}

// serving is what the front door serves at a URL.
type serving uint8

const (
	notServed         serving = iota // a client cannot poll it
	servedAsResource                 // the resource that the request writes
	servedAsDeclared                 // a resource of a declared type, unless an operation has that URL
	servedAsOperation                // an operation
)

// servedAs decides what the front door serves at a URL. It must be an operation of the
// same provider and subscription, or the resource that the request writes, unless the
// request deletes it.
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
