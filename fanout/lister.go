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

// Options are what a [Lister] is made of.
type Options struct {
	Reader Reader
	Keys   *Keys
	Public *url.URL // scheme and host under which clients know the front door
	// Budget is for all lists together, Memory for one of them, PageSize for one
	// page of a provider, in bytes; none is less than the next.
	Budget           *limits.Memory
	Memory, PageSize int64
	TokenLifetime    time.Duration
	// Timeout is what a client waits for an answer. Regions get less of it, so
	// that there is time to say what went wrong.
	Timeout time.Duration
	Metrics prometheus.Registerer
}

// Lister answers pages of lists over several regions. It is safe for concurrent
// use.
type Lister struct {
	options Options
	metrics *metrics
}

// NewLister returns a lister.
func NewLister(o Options) *Lister { return &Lister{o, newMetrics(o.Metrics)} }

// Succeed returns a lister that takes the place of l, with its metrics and the
// budget of memory that both draw on until the last list of l has ended.
func (l *Lister) WithOptions(o Options) *Lister {
	o.Budget = l.options.Budget
	return &Lister{o, l.metrics}
}

// How the time of a list is divided, as shares of it.
const (
	sequentialShare   = 0.3  // regions are asked one after the other until then
	firstAttemptShare = 0.6  // regions have to answer by then, or are asked once more
	totalShare        = 0.85 // no answer is waited for any longer: an error has to be written
	memoryWaitShare   = 0.1  // memory is waited for so long
)

func (l *Lister) timeShare(of float64) time.Duration {
	return time.Duration(of * float64(l.options.Timeout))
}

// Request asks for one page.
type Request struct {
	Namespace  string
	Path       arm.Path
	Query      routing.Query
	Header     http.Header // of each call; not changed
	Caller     string      // whose share of memory and of calls it uses
	ReceivedAt time.Time   // when the request came in
	// Endpoints are those of the regions, one each, in the order of the regions'
	// names. They count on a first page; a token names its own.
	Endpoints []*regions.Endpoint
	// Endpoint returns what serves a region that a token names, or nil.
	Endpoint func(region string) *regions.Endpoint
	// Asked is what the client asked for when a region fails, Inherit when it did
	// not say; Setting is what holds then.
	ClientMode, ConfigMode regions.RegionFailure
}

// Continues reports whether a query asks for a further page.
func HasSkipToken(q routing.Query) bool {
	token, _ := q.Get(skipToken)
	return token != ""
}

// Sealed reports whether the request's skip token is one that this front door
// made for this very list.
func (l *Lister) OwnsToken(r Request) bool {
	token, _ := r.Query.Get(skipToken)
	if token == "" {
		return false
	}
	_, ok := l.options.Keys.open(token, ownQueryOf(r.Query).digest(r.Path))
	return ok
}

// Page returns a page, which the caller must release, or an error: an *arm.Error
// or the end of ctx. Nothing of a page is shown before all its regions have
// answered.
func (l *Lister) Page(ctx context.Context, r Request) (*MergedPage, error) {
	begun := time.Now()
	merged, err := l.page(ctx, r)
	l.metrics.countPage(merged, err, time.Since(begun))
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
	p := &pageBuild{
		lister: l, request: r, query: own, cursor: w, top: top,
		memory: l.options.Budget.Share(r.Caller, l.options.Memory),
	}
	defer func() {
		if merged == nil { // also where it panicked
			p.memory.Close()
		}
	}()
	return p.run(ctx)
}

// topOf reads $top, 0 where it is absent.
func topOf(q routing.Query) (int, *arm.Error) {
	text, ok := q.Get(pageSize)
	if !ok {
		return 0, nil
	}
	top, err := strconv.Atoi(text)
	if err != nil || top < 1 {
		return 0, arm.NewError(arm.InvalidQueryParameter, pageSize, "it is a whole number from 1 on").About(pageSize)
	}
	return top, nil
}

// walk begins a list or takes up the one of the request's token.
func (l *Lister) newCursor(r Request, own ownQuery) (*cursor, *arm.Error) {
	if HasSkipToken(r.Query) {
		return l.resumeCursor(r, own)
	}
	w := &cursor{}
	for _, e := range r.Endpoints {
		w.regions = append(w.regions, &regionCursor{name: e.Region})
	}
	return w, nil
}

func (l *Lister) resumeCursor(r Request, own ownQuery) (*cursor, *arm.Error) {
	token, _ := r.Query.Get(skipToken)
	text, ok := l.options.Keys.open(token, own.digest(r.Path))
	if !ok {
		return nil, arm.NewError(arm.InvalidSkipToken).About(skipToken)
	}
	w, ok := decodeCursor(text, own)
	if !ok {
		return nil, arm.NewError(arm.InvalidSkipToken).About(skipToken)
	}
	if time.Since(w.issued) > l.options.TokenLifetime {
		return nil, arm.NewError(arm.ExpiredSkipToken, "it has expired").About(skipToken)
	}
	for _, region := range w.regions {
		if r.Endpoint(region.name) == nil {
			return nil, arm.NewError(arm.ExpiredSkipToken, "the region '"+region.name+"' is no longer configured").About(skipToken)
		}
	}
	return w, nil
}

// partial reports whether a list that lacks regions is better than none.
func (r Request) wantsPartial(w *cursor) bool {
	switch {
	case r.ClientMode != regions.Inherit:
		return r.ClientMode == regions.Partial
	case w.partial:
		return true
	}
	return r.ConfigMode == regions.Partial
}
