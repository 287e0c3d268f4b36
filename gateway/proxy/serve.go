package proxy

import (
	"net/http"

	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
	"portico/tracing/headers"
)

// again is why a request has to be resolved again: what a step of its way comes to that has
// neither answered it nor failed. Each reason counts once for a request, so that it is
// resolved five times at most: a step that may not ask any more ends with what it has.
type again uint8

// The reasons. Whatever showed them has corrected memory and index as well.
const (
	misplaced again = 1 << iota // memory sent a read where its resource does not lie any more
	elsewhere                   // a read found nothing in its region, and another may have it
	rowGone                     // a write was resolved by a row whose resource does not exist
	overtaken                   // what a write was resolved by changed before its intent was recorded

	ended again = 0 // there is none: the request has its answer, or an error
)

// byStore reports whether the store alone has to resolve the request from then on. Memory is
// good enough for reads, whose locations are corrected.
func (a again) byStore() bool { return a == rowGone || a == overtaken }

// may reports whether a step may ask for another resolution for a reason.
func (d *Resolved) may(why again) bool { return d.tried&why == 0 }

// Serve decides who serves a request whose content and arguments are checked, and answers
// it. It decides again, and begins anew, as often as a step asks for that; nothing else
// resolves a request.
func (p *Proxy) Serve(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	resolver := p.Resolver
	for {
		var err error
		if d.Decision, err = resolver.Resolve(r.Context(), x, x.Request, d.body); err != nil {
			return err
		}
		if fault := p.checkCreatedFor(x.Request, d.body); fault != nil {
			return fault
		}
		x.Region = d.Region
		why, err := p.serveOnce(w, r, x, d)
		if err != nil || why == ended {
			return err
		}
		if d.tried |= why; why.byStore() {
			resolver = p.Resolver.ByStore()
		}
	}
}

// serveOnce answers a resolved request in the way that its kind needs, or says why it has to
// be resolved again.
func (p *Proxy) serveOnce(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) (again, error) {
	if d.readable != nil && !isList(x.Request) {
		if err := p.refuseUnlessBegan(r.Context(), x); err != nil {
			return ended, err
		}
	}
	x.Reach(exchange.AtHeaders)
	if headers.TooMuchForProvider(r.Header, x.Request.Provider.PassesRequest()) {
		return ended, exchange.TooManyHeaders("there is more of it than a resource provider takes")
	}
	x.Reach(exchange.AtLocks)
	if err := p.checkLocks(x, d); err != nil {
		return ended, err
	}
	switch {
	case d.Answer == routing.Absent || d.Answer == routing.Present:
		x.Region = ""
		return ended, x.Answer(w, http.StatusNoContent, nil)
	case d.Answer == routing.Merge || d.readable != nil && d.sole() && isList(x.Request) || p.continuesMergedList(x):
		return p.mergedList(w, r, x, d)
	case d.Answer == routing.EmptyList:
		return ended, p.emptyList(w, x)
	case x.Request.Class == routing.Poll:
		return p.poll(w, r, x, *d)
	}
	x.Reach(exchange.AtRecords)
	if !x.Request.Reads() {
		if err := p.Admission.CheckOperation(r.Context(), x, &d.Subscription); err != nil {
			return ended, err
		}
	}
	if d.Answer == routing.AskEach {
		return ended, p.checkName(w, r, x, d)
	}
	if x.Request.Class == routing.Instance {
		tracked := x.Request.Type.Kind == regions.Tracked
		switch {
		case r.Method == http.MethodHead:
			return p.head(w, r, x, d)
		case tracked && r.Method == http.MethodGet:
			return p.read(w, r, x, d)
		case tracked:
			if err := p.Admission.CheckRemoval(r.Context(), &d.Subscription); err != nil {
				return ended, err
			}
			return p.write(w, r, x, d)
		case r.Method == http.MethodPut:
			if fault := p.misshapen(x, d); fault != nil {
				x.Reach(exchange.AtShape)
				return ended, fault
			}
		}
	}
	return p.relay(w, r, x, d)
}

// checkLocks refuses what locks forbid. The store checks the locks of a write of a
// tracked resource in the transaction that records the intent; a write that is
// answered without a call has no intent.
func (p *Proxy) checkLocks(x *exchange.Exchange, d *Resolved) error {
	if q := x.Request; q.Class == routing.Instance && q.Type.Kind == regions.Tracked && d.Answer == routing.Forward {
		return nil
	}
	return admission.CheckLocks(x, d.Locks)
}
