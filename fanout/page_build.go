package fanout

import (
	"context"
	"errors"
	"time"

	"portico/arm"
	"portico/limits"
	"portico/tracing/spans"
)

// Bounds of one page.
const (
	maxConcurrentRegions = 64
	// maxEmptyPagesPerBuild bounds the empty pages of a region that are skipped for
	// one merged page.
	maxEmptyPagesPerBuild = 16
)

// pageBuild builds one merged page: it fetches from regions, retries failures
// once, decides whether a remaining failure fails the list, and advances the
// cursor as long as the token has room.
type pageBuild struct {
	lister  *Lister
	request Request
	query   ownQuery
	cursor  *cursor
	top     int // 0: all that the providers return
	memory  *limits.Reservation

	firstDeadline time.Time       // when first attempts end
	results       []*regionResult // of the regions called, in order
	token         string          // of the advanced cursor; "" at the end of the list
}

// regionResult is the result of one region for this page.
type regionResult struct {
	region          *regionCursor // in the cursor
	before          regionCursor  // before this page
	after           regionCursor  // after this page, if it answered
	outcome         outcome
	page            Page
	memory          int64 // bytes of memory
	ids             []string
	fault           *arm.Error // if it failed
	callerShareFull bool       // the caller's own share is used up
}

type outcome uint8

const (
	outcomeAnswered  outcome = iota
	outcomeFailed            // it failed
	outcomeDeferred          // no room for its page; it keeps its position
	outcomeBusy              // no room although the list held no memory
	outcomePostponed         // it failed, and the page is full without it
)

var outcomeLabels = [...]string{"answered", "failed", "deferred", "busy", "postponed"}

func (p *pageBuild) run(ctx context.Context) (*MergedPage, error) {
	began := p.request.ReceivedAt
	p.firstDeadline = began.Add(p.lister.timeShare(firstAttemptShare))
	tries, cancel := context.WithDeadline(ctx, began.Add(p.lister.timeShare(totalShare)))
	defer cancel()
	if p.cursor.parts {
		if err := p.cursor.addParts(tries, p.request.Parts); err != nil {
			return nil, err
		}
		if fault := p.request.checkRegions(p.cursor); fault != nil {
			return nil, fault
		}
	}
	p.fetchAll(tries)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.cursor.partial = p.request.wantsPartial(p.cursor)
	fault := p.checkFailures()
	if fault == nil {
		fault = p.advanceCursor()
	}
	p.lister.metrics.countRegions(p, fault != nil)
	if fault != nil {
		return nil, fault
	}
	return p.mergedPage(), nil
}

// fetchAll fetches from the regions of this page, and retries failed ones
// once the others have answered.
func (p *pageBuild) fetchAll(ctx context.Context) {
	first, cancel := context.WithDeadline(ctx, p.firstDeadline)
	defer cancel()
	open := p.cursor.remaining()
	if p.cursor.parts {
		open = open[:min(len(open), maxParts)]
	}
	if p.top > 0 {
		p.fetchSequentially(first, open)
	} else {
		if p.cursor.width > 0 {
			open = open[:min(len(open), p.cursor.width)]
		}
		for _, r := range open {
			p.results = append(p.results, &regionResult{region: r, before: *r})
		}
		p.charge(len(p.results))
		p.fetchConcurrently(first, p.results, false)
	}
	p.fetchExclusive(ctx)
	p.retryFailed(ctx)
}

func (p *pageBuild) charge(regions int) {
	if p.request.Charge != nil {
		p.request.Charge(regions)
	}
}

// fetchConcurrently returns when all regions have answered.
func (p *pageBuild) fetchConcurrently(ctx context.Context, results []*regionResult, repeats bool) {
	limits.ForEach(maxConcurrentRegions, len(results), func(i int) { p.fetch(ctx, results[i], fetchOptions{retry: repeats}) })
}

// fetchSequentially fills the page region by region, until a region has more elements
// than fit: the next page continues there. It stops early enough to retry failures.
func (p *pageBuild) fetchSequentially(ctx context.Context, open []*regionCursor) {
	soon := p.request.ReceivedAt.Add(p.lister.timeShare(sequentialShare))
	for i, r := range open {
		lacks := p.remaining()
		if lacks <= 0 || i > 0 && time.Now().After(soon) {
			return
		}
		result := &regionResult{region: r, before: *r}
		p.results = append(p.results, result)
		p.charge(1)
		p.fetch(ctx, result, fetchOptions{top: lacks})
		switch {
		case result.outcome == outcomeDeferred || result.outcome == outcomeBusy:
			return
		case result.outcome == outcomeAnswered && result.after.state == inProgress:
			return
		}
	}
}

// remaining returns the number of elements that a page of a given size still needs.
func (p *pageBuild) remaining() int {
	n := p.top
	for _, r := range p.results {
		n -= len(r.page.Elements) - r.page.hidden
	}
	return n
}

// fetchExclusive fetches from one region with the memory of a whole page if
// no region had room, so that every list makes progress.
func (p *pageBuild) fetchExclusive(ctx context.Context) {
	var first *regionResult
	for _, r := range p.results {
		switch r.outcome {
		case outcomeAnswered:
			return
		case outcomeDeferred, outcomeBusy:
			if first == nil {
				first = r
			}
		case outcomeFailed, outcomePostponed:
		}
	}
	if first == nil {
		return
	}
	room := p.lister.options.PageSize + 1
	if err := p.memory.GrowWithin(ctx, room, p.lister.timeShare(memoryWaitShare)); err != nil {
		first.fail(err, p.request.Namespace)
		first.outcome = outcomeBusy
		return
	}
	p.fetch(ctx, first, fetchOptions{top: p.top, prepaid: room})
}

// retryFailed calls the regions again whose failure is not permanent.
func (p *pageBuild) retryFailed(ctx context.Context) {
	var again []*regionResult
	for _, r := range p.results {
		if r.outcome != outcomeFailed || permanent(r.fault) {
			continue
		}
		if p.top > 0 && p.remaining() <= 0 {
			r.outcome = outcomePostponed
			continue
		}
		again = append(again, r)
	}
	if len(again) == 0 || p.request.Sole || ctx.Err() != nil {
		return
	}
	if p.top == 0 {
		p.fetchConcurrently(ctx, again, true)
		return
	}
	for _, r := range again {
		if lacks := p.remaining(); lacks > 0 {
			p.fetch(ctx, r, fetchOptions{top: lacks, retry: true})
		} else {
			r.outcome = outcomePostponed
		}
	}
}

type fetchOptions struct {
	top     int   // 0: the provider's own size
	prepaid int64 // taken from the share beforehand
	retry   bool
}

// fetch reads the next page of a region, skipping empty ones.
func (p *pageBuild) fetch(ctx context.Context, r *regionResult, as fetchOptions) {
	ctx, span := spans.Begin(ctx, spans.RegionList, "list region")
	p.fetchPages(ctx, r, as)
	if span != nil {
		span.Text(spans.Region, r.before.name)
		span.Text(spans.Namespace, p.request.Namespace)
		span.Text(spans.Outcome, outcomeLabels[r.outcome])
		span.End()
	}
}

func (p *pageBuild) fetchPages(ctx context.Context, r *regionResult, as fetchOptions) {
	from := r.before
	if from.state == notStarted {
		from.query = p.query.raw
	}
	c := p.collection(from)
	if c.singleResource {
		from.query = c.Query
	}
	room := &pageMemory{build: p, exclusive: as.prepaid > 0, prepaid: as.prepaid}
	defer room.finish(r)
	for idle := 0; ; idle++ {
		if as.top > 0 {
			from.query = withTop(from.query, as.top)
		}
		after, got, err := c.fetchPage(ctx, from, pageOptions{
			reserve: room.reserve, retry: as.retry && idle == 0, buffers: p.lister.buffers,
		})
		if got.requestID != "" {
			r.ids = append(r.ids, got.requestID)
		}
		if err == nil {
			err = room.reserveElements(ctx, len(got.page.Elements))
		}
		if err != nil {
			r.fail(err, p.request.Namespace)
			return
		}
		if after.state == exhausted || len(got.page.Elements) > 0 || idle == maxEmptyPagesPerBuild || time.Now().After(p.firstDeadline) {
			list := &p.request.Path
			if from.of != nil && !from.of.One {
				list = &from.of.Path
			}
			visibility{p.request.Shows, list}.hide(&got.page)
			r.outcome, r.after, r.page, r.fault = outcomeAnswered, after, got.page, nil
			return
		}
		room.releaseAll()
		from = after
	}
}

// fail records the reason for a missing page. A retry that was not sent keeps
// the earlier fault.
func (r *regionResult) fail(err error, namespace string) {
	var fault *arm.Error
	r.callerShareFull = errors.Is(err, limits.ErrCallerShare)
	switch {
	case errors.Is(err, limits.ErrNoRoom):
		r.outcome, r.fault = outcomeDeferred, nil
	case errors.Is(err, limits.ErrBusy):
		r.outcome, r.fault = outcomeBusy, nil
	case errors.As(err, &fault):
		r.outcome, r.fault = outcomeFailed, fault
	case r.fault == nil:
		r.outcome, r.fault = outcomeFailed, readFault(err, namespace)
	}
}

func (p *pageBuild) collection(r regionCursor) Collection {
	q := p.request
	c := Collection{
		Reader: p.lister.options.Reader, Namespace: q.Namespace, Public: p.lister.options.Public,
		Path: q.Path, Query: p.query.raw, Header: q.Header, Caller: q.Caller,
		sole: q.Sole,
	}
	if q.Endpoint != nil {
		c.Endpoint = q.Endpoint(r.name)
	}
	for _, e := range q.Endpoints {
		if e.Region == r.name {
			c.Endpoint = e
		}
	}
	if r.of != nil {
		return c.atPart(r.of)
	}
	return c
}

// pageMemory is the memory of one region's page.
type pageMemory struct {
	build     *pageBuild
	exclusive bool  // its maximum was taken beforehand
	prepaid   int64 // the unused rest of that
	taken     int64
}

// elementCost is the approximate memory of an element besides its bytes: its
// offsets, and its entry in the set of ids.
const elementCost = 80

// reserve takes memory before it is allocated. If the list holds none, it
// waits within bounds.
func (r *pageMemory) reserve(ctx context.Context, n int64) error {
	if r.prepaid >= n {
		r.prepaid -= n
		r.taken += n
		return nil
	}
	if err := r.build.memory.GrowWithin(ctx, n, r.build.lister.timeShare(memoryWaitShare)); err != nil {
		return err
	}
	r.taken += n
	return nil
}

// reserveElements charges the memory that parsed elements already occupy.
func (r *pageMemory) reserveElements(ctx context.Context, n int) error {
	bytes := int64(n) * elementCost
	if !r.exclusive {
		return r.reserve(ctx, bytes)
	}
	r.build.memory.ForceGrow(bytes)
	r.taken += bytes
	return nil
}

// releaseAll returns the memory of a page without elements.
func (r *pageMemory) releaseAll() {
	if r.exclusive {
		r.prepaid += r.taken
	} else {
		r.build.memory.Shrink(r.taken)
	}
	r.taken = 0
}

// finish records the memory of the page in the result, and returns the rest.
func (r *pageMemory) finish(to *regionResult) {
	if to.outcome != outcomeAnswered {
		r.releaseAll()
	}
	to.memory = r.taken
	r.build.memory.Shrink(r.prepaid)
}
