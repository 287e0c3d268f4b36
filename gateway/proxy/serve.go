package proxy

import (
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
	"portico/tracing/headers"
)

// retryReason is a set of reasons to resolve a request again, as found by a step that has
// neither answered it nor failed. Each reason counts once for a request, so a request is
// resolved at most five times; after that a step has to end with what it has.
type retryReason uint8

// The reasons. The step that returns one has corrected memory and index.
const (
	misplaced retryReason = 1 << iota // memory sent a read to a region that its resource has left
	elsewhere                         // a read found nothing in its region, and another may have the resource
	rowGone                           // a write was resolved by a row whose resource does not exist
	overtaken                         // what a write was resolved by changed before its intent was recorded

	ended retryReason = 0 // no reason: the request was answered, or failed
)

// needsStore reports whether the request must be resolved from the store from then on.
// For reads memory suffices, as it was corrected.
func (a retryReason) needsStore() bool { return a == rowGone || a == overtaken }

// mayRetry reports whether a step may ask for another resolution for a reason.
func (d *Resolved) mayRetry(why retryReason) bool { return d.triedReasons&why == 0 }

// Serve decides who serves a request whose content and arguments are checked, and answers
// it. It decides again, from the start, whenever a step asks for that; nothing else
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
		why, err := p.checkDrain(x, d)
		if err == nil && why == ended {
			why, err = p.serveOnce(w, r, x, d)
		}
		if err != nil || why == ended {
			return err
		}
		if d.triedReasons |= why; why.needsStore() {
			resolver = p.Resolver.FromStore()
		}
	}
}

// checkDrain refuses the creation of a resource in a drained region. Memory may lack the row of
// a resource that exists, so the store decides.
func (p *Proxy) checkDrain(x *exchange.Exchange, d *Resolved) (retryReason, error) {
	q := x.Request
	drain, drained := p.Store.Drains.At(d.Region)
	switch {
	case !drained || q.Method != http.MethodPut || q.Class != routing.Instance || q.Type.Kind != regions.Tracked || d.Row != nil:
		return ended, nil
	case d.mayRetry(overtaken):
		return overtaken, nil
	}
	fault := arm.NewError(arm.LocationUnderMaintenance, d.Region, drain.Until.UTC().Format(time.RFC3339), drain.Reason).WithTarget(d.Region)
	fault.RetryAfter = max(time.Second, min(drain.Until.Sub(p.Store.Now()), arm.MaxRetryAfter))
	return ended, fault
}

// serveOnce answers a resolved request according to its kind, or returns a reason to
// resolve it again.
func (p *Proxy) serveOnce(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	if d.readable != nil && !isList(x.Request) {
		if err := p.refuseUnlessBegan(r.Context(), x); err != nil {
			return ended, err
		}
	}
	x.RecordStage(exchange.AtHeaders)
	if headers.TooMuchForProvider(r.Header, x.Request.Provider.PassesRequest()) {
		return ended, exchange.TooManyHeaders("there is more of it than a resource provider takes")
	}
	x.RecordStage(exchange.AtLocks)
	if err := p.checkLocks(x, d); err != nil {
		return ended, err
	}
	switch {
	case d.Mode == routing.Absent || d.Mode == routing.Present:
		x.Region = ""
		return ended, x.Answer(w, http.StatusNoContent, nil)
	case d.Mode == routing.Merge || d.readable != nil && d.oneEndpoint() && isList(x.Request) || p.continuesMergedList(x):
		return p.mergedList(w, r, x, d)
	case d.Mode == routing.EmptyList:
		return ended, p.emptyList(w, x)
	case x.Request.Class == routing.Poll:
		return p.poll(w, r, x, *d)
	}
	x.RecordStage(exchange.AtRecords)
	if !x.Request.Reads() {
		if err := p.Admission.CheckOperation(r.Context(), x, &d.Subscription); err != nil {
			return ended, err
		}
	}
	if d.Mode == routing.AllRegions {
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
			if fault := p.checkShape(x, d); fault != nil {
				x.RecordStage(exchange.AtShape)
				return ended, fault
			}
		}
	}
	return p.relay(w, r, x, d)
}

// checkLocks refuses requests that locks forbid. The store checks the locks of a write of
// a tracked resource in the transaction that records the intent; but a write that is
// answered without a call has no intent.
func (p *Proxy) checkLocks(x *exchange.Exchange, d *Resolved) error {
	if q := x.Request; q.Class == routing.Instance && q.Type.Kind == regions.Tracked && d.Mode == routing.Forward {
		return nil
	}
	return admission.CheckLocks(x, d.Locks)
}
