// Package fanout lists one collection that is spread over several regions and merges the
// regions' answers (resource reference, Get Resource: "ARM will query each regional
// endpoint that has at least one resource for the subscription and aggregate the
// responses").
//
// A [Lister] builds one merged page per request. It calls all unfinished regions
// concurrently (or sequentially, if the client asked for a page size), buffers one page
// of each, and writes nothing before all have answered, so that every failure becomes a
// proper error. Elements are forwarded byte for byte. Clients take an absent element for
// a deleted one: if a region still fails after one retry the whole list fails, unless
// the caller prefers a partial list that names the missing regions.
//
// A cursor holds the state between two pages: whether each region is not yet started,
// continues with a query of its provider, or was given up. It is sealed into the skip
// token, bound to this list, and stored nowhere else: any replica with the same keys can
// continue the list.
//
// Buffered pages are charged to a memory budget, per list and for all lists. A region
// keeps its position for a later page if its page does not fit the memory or its query
// does not fit the token.
//
// Portico never calls a provider's nextLink: it checks host and path, and sends only the
// query to the configured endpoint. Circular or endless pages are detected and fail
// their region.
package fanout

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/arm"
	"portico/limits"
	"portico/regions"
	"portico/routing"
)

// Options configure a [Lister].
type Options struct {
	Reader Reader
	Keys   *Keys
	Public *url.URL // scheme and host of the front door as clients see them
	// Budget bounds all lists together, Memory one list, PageSize one page of a
	// provider, in bytes; none is less than the next.
	Budget           *limits.Memory
	Memory, PageSize int64
	TokenLifetime    time.Duration
	// Timeout bounds the whole request. Regions get a part of it, so that time
	// remains to write an error.
	Timeout time.Duration
	Metrics prometheus.Registerer
}

// Lister builds pages of lists over several regions. It is safe for concurrent use.
type Lister struct {
	options Options
	metrics *metrics
	buffers *buffers
}

// NewLister returns a lister with metrics of its own.
func NewLister(o Options) *Lister { return &Lister{o, newMetrics(o.Metrics), &buffers{}} }

// WithOptions returns a lister that replaces l. It keeps the metrics of l and its
// memory budget, which both use until the last list of l has ended.
func (l *Lister) WithOptions(o Options) *Lister {
	o.Budget = l.options.Budget
	return &Lister{o, l.metrics, l.buffers}
}

// ReadingBy returns a lister with another reader, and without metrics.
func (l *Lister) ReadingBy(r Reader) *Lister {
	o := l.options
	o.Reader = r
	return &Lister{o, newMetrics(nil), &buffers{}}
}

// Shares of the time of a list.
const (
	sequentialShare   = 0.3  // no further region is called sequentially after it
	firstAttemptShare = 0.6  // ends first attempts; those that fail are retried
	totalShare        = 0.85 // ends all calls, so that an error can still be written
	memoryWaitShare   = 0.1  // bounds the wait for memory
)

func (l *Lister) timeShare(of float64) time.Duration {
	return time.Duration(of * float64(l.options.Timeout))
}

// Request describes the page of a list that a client requests.
type Request struct {
	Namespace string
	Type      string // its full name in the map
	Path      arm.Path
	Query     routing.Query
	Header    http.Header // of each call; not modified
	Caller    string      // is charged for memory and calls
	Principal string      // owner of its skip tokens; the same for every credential
	// Charge is called with the number of regions before they are called; nil:
	// they are not counted. Calling a region again is free.
	Charge     func(regions int)
	ReceivedAt time.Time // when the request arrived
	// Endpoints has one endpoint per region, sorted by region name. It is used
	// for a first page; a token names its own regions.
	Endpoints []*regions.Endpoint
	// Endpoint returns the endpoint of a region in a token, or nil.
	Endpoint func(region string) *regions.Endpoint
	// Sole reports that the only endpoint in Endpoints serves the list, and that the
	// list is read here only to apply Shows: the provider's errors become the list's,
	// and a skip token that this front door did not issue is the provider's.
	Sole bool
	// Shows reports whether the caller may read the resource with an id, in any casing;
	// it must not keep the id. nil: all resources in the list. If a list is not shown in
	// full, only elements with an unambiguous id are shown.
	Shows func(id string) bool
	// Parts, unless nil, are the parts of the list that a caller with partial
	// access may read: a list with Shows consists of them. They are needed for
	// every caller that continues such a list by its token.
	Parts Parts
	// ClientMode is the client's choice for a failed region, Inherit if it
	// made none; then ConfigMode applies.
	ClientMode, ConfigMode regions.RegionFailure
}

// HasSkipToken reports whether a query continues a list.
func HasSkipToken(q routing.Query) bool {
	token, _ := q.Get(skipToken)
	return token != ""
}

// OwnsToken reports whether this front door issued the request's skip token,
// for any list and caller.
func (l *Lister) OwnsToken(r Request) bool {
	token, _ := r.Query.Get(skipToken)
	return l.options.Keys.sealed(token)
}

// Page returns a page, which the caller must release, or an error: an
// *arm.Error or the error of ctx.
func (l *Lister) Page(ctx context.Context, r Request) (*MergedPage, error) {
	started := time.Now()
	merged, err := l.page(ctx, r)
	l.metrics.countPage(merged, err, time.Since(started))
	return merged, err
}

func (l *Lister) page(ctx context.Context, r Request) (merged *MergedPage, err error) {
	top, fault := topOf(r.Query)
	if fault != nil {
		return nil, fault
	}
	own := ownQueryOf(r.Query)
	w, fault := l.newCursor(r, own)
	if fault != nil {
		return nil, fault
	}
	if w.parts {
		if err := w.resumeParts(ctx, r.Parts); err != nil {
			return nil, err
		}
		r.Sole = false
	}
	p := &pageBuild{
		lister: l, request: r, query: own, cursor: w, top: top,
		memory: l.options.Budget.Reservation(r.Caller, l.options.Memory),
	}
	defer func() {
		if merged == nil { // also after a panic
			p.memory.Close()
		}
	}()
	return p.run(ctx)
}

// topOf reads $top; 0 if absent.
func topOf(q routing.Query) (int, *arm.Error) {
	text, ok := q.Get(pageSize)
	if !ok {
		return 0, nil
	}
	top, err := strconv.Atoi(text)
	if err != nil || top < 1 {
		return 0, arm.NewError(arm.InvalidQueryParameter, pageSize, "it is a whole number from 1 on").WithTarget(pageSize)
	}
	return top, nil
}

// newCursor starts a list or continues the one in the request's token.
func (l *Lister) newCursor(r Request, own ownQuery) (*cursor, *arm.Error) {
	resumes := HasSkipToken(r.Query)
	if resumes && !(r.Sole && !l.OwnsToken(r)) {
		return l.resumeCursor(r, own)
	}
	w := &cursor{}
	if r.Parts != nil && r.Shows != nil && !resumes {
		w.parts, w.more = true, true
		return w, nil
	}
	for _, e := range r.Endpoints {
		first := &regionCursor{name: e.Region}
		if resumes {
			first.state, first.query = inProgress, r.Query.Raw
		}
		w.regions = append(w.regions, first)
	}
	return w, nil
}

func (l *Lister) resumeCursor(r Request, own ownQuery) (*cursor, *arm.Error) {
	token, _ := r.Query.Get(skipToken)
	text, ok := l.options.Keys.open(token, own.digest(r.Path), r.Principal)
	if !ok {
		return nil, arm.NewError(arm.InvalidSkipToken).WithTarget(skipToken)
	}
	w, ok := decodeCursor(text, own)
	if !ok {
		return nil, arm.NewError(arm.InvalidSkipToken).WithTarget(skipToken)
	}
	if time.Since(w.issued) > l.options.TokenLifetime {
		return nil, arm.NewError(arm.ExpiredSkipToken, "it has expired").WithTarget(skipToken)
	}
	if w.parts && r.Parts == nil {
		return nil, arm.NewError(arm.InvalidSkipToken).WithTarget(skipToken)
	}
	if fault := r.checkRegions(w); fault != nil {
		return nil, fault
	}
	return w, nil
}

// checkRegions refuses a list that would continue in a region that has left the map.
func (r Request) checkRegions(w *cursor) *arm.Error {
	for _, region := range w.regions {
		if r.Endpoint(region.name) == nil {
			return arm.NewError(arm.ExpiredSkipToken, "the region '"+region.name+"' is no longer configured").WithTarget(skipToken)
		}
	}
	return nil
}

// wantsPartial reports whether a failed region may be left out of the list.
func (r Request) wantsPartial(w *cursor) bool {
	switch {
	case r.ClientMode != regions.Inherit:
		return r.ClientMode == regions.Partial
	case w.partial:
		return true
	}
	return r.ConfigMode == regions.Partial
}
