package fanout

import (
	"context"
	"errors"
	"time"

	"portico/arm"
	"portico/limits"
)

// Bounds of one page.
const (
	maxConcurrentRegions = 32
	// idleAtOnce is how many empty pages of a region are passed over for one
	// merged page.
	maxEmptyPagesPerBuild = 16
)

// pass is the making of one merged page. It asks regions, asks what failed once
// more, judges what failed again, and takes the walk on as far as the token can
// tell.
type pageBuild struct {
	lister  *Lister
	request Request
	query   ownQuery
	cursor  *cursor
	top     int // 0: whatever the providers give
	memory  *limits.Reservation

	firstDeadline time.Time       // when first attempts must have ended
	results       []*regionResult // of the regions that were asked, in their order
	token         string          // of the walk as it was settled; "" at its end
}

// result is what became of a region on this page.
type regionResult struct {
	region          *regionCursor // in the walk
	before          regionCursor  // as it was
	after           regionCursor  // as it is behind its page, where it answered
	outcome         outcome
	page            Page
	held            int64 // bytes of the share
	ids             []string
	fault           *arm.Error // where it failed
	callerShareFull bool       // what there is no room in is the caller's share
}

// outcome is what a region came to on a page.
type outcome uint8

const (
	outcomeAnswered  outcome = iota
	outcomeFailed            // it failed
	outcomeDeferred          // there is no room for its page; it stays where it was
	outcomeBusy              // the same, though nothing was held
	outcomePostponed         // it failed, and the page is full without it
)

var outcomeLabels = [...]string{"answered", "failed", "deferred", "busy", "postponed"}

func (p *pageBuild) run(ctx context.Context) (*MergedPage, error) {
	began := p.request.ReceivedAt
	p.firstDeadline = began.Add(p.lister.timeShare(firstAttemptShare))
	tries, cancel := context.WithDeadline(ctx, began.Add(p.lister.timeShare(totalShare)))
	defer cancel()
	p.fetchAll(tries)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.cursor.partial = p.request.wantsPartial(p.cursor)
	fault := p.checkFailures()
	if fault == nil {
		fault = p.advanceCursor()
	}
	p.lister.metrics.countRegions(p.results)
	if fault != nil {
		return nil, fault
	}
	return p.mergedPage(), nil
}

// ask asks the regions that this page is made of, and once more those that
// failed, when the others have answered.
func (p *pageBuild) fetchAll(ctx context.Context) {
	first, cancel := context.WithDeadline(ctx, p.firstDeadline)
	defer cancel()
	open := p.cursor.remaining()
	if p.top > 0 {
		p.fetchSequentially(first, open)
	} else {
		if p.cursor.width > 0 {
			open = open[:min(len(open), p.cursor.width)]
		}
		for _, r := range open {
			p.results = append(p.results, &regionResult{region: r, before: *r})
		}
		p.fetchConcurrently(first, p.results, false)
	}
	p.fetchExclusive(ctx)
	p.retryFailed(ctx)
}

// atOnce asks regions at the same time, and returns when all have answered.
func (p *pageBuild) fetchConcurrently(ctx context.Context, results []*regionResult, repeats bool) {
	limits.ForEach(maxConcurrentRegions, len(results), func(i int) { p.fetch(ctx, results[i], fetchOptions{retry: repeats}) })
}

// inOrder asks one region after the other for what the page still lacks, until
// one of them goes on: the next page begins there. A page also ends while there
// is time to ask once more for what failed.
func (p *pageBuild) fetchSequentially(ctx context.Context, open []*regionCursor) {
	soon := p.request.ReceivedAt.Add(p.lister.timeShare(sequentialShare))
	for i, r := range open {
		lacks := p.remaining()
		if lacks <= 0 || i > 0 && time.Now().After(soon) {
			return
		}
		result := &regionResult{region: r, before: *r}
		p.results = append(p.results, result)
		p.fetch(ctx, result, fetchOptions{top: lacks})
		switch {
		case result.outcome == outcomeDeferred || result.outcome == outcomeBusy:
			return
		case result.outcome == outcomeAnswered && result.after.state == inProgress:
			return
		}
	}
}

// lacks is how many elements a page of a given size still wants.
func (p *pageBuild) remaining() int {
	n := p.top
	for _, r := range p.results {
		n -= len(r.page.Elements)
	}
	return n
}

// alone asks one region with all the room that a page can take, where there was
// none for any: so every list goes on.
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
	waiting, cancel := context.WithTimeout(ctx, p.lister.timeShare(memoryWaitShare))
	defer cancel()
	room := p.lister.options.PageSize + 1
	if err := p.memory.Grow(waiting, room); err != nil {
		first.fail(err, p.request.Namespace)
		first.outcome = outcomeBusy
		return
	}
	p.fetch(ctx, first, fetchOptions{top: p.top, prepaid: room})
}

// onceMore asks again the regions that failed, unless there is no hope in it.
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
	if len(again) == 0 || ctx.Err() != nil {
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

// attempt is how a region is asked.
type fetchOptions struct {
	top     int   // 0: for whatever it gives
	prepaid int64 // taken from the share beforehand
	retry   bool
}

// one asks a region for its next page, and on while its pages are empty.
func (p *pageBuild) fetch(ctx context.Context, r *regionResult, as fetchOptions) {
	from := r.before
	if from.state == notStarted {
		from.query = p.query.raw
	}
	c := p.collection(from)
	room := &pageMemory{build: p, exclusive: as.prepaid > 0, prepaid: as.prepaid}
	defer room.finish(r)
	for idle := 0; ; idle++ {
		if as.top > 0 {
			from.query = withTop(from.query, as.top)
		}
		after, got, err := c.fetchPage(ctx, from, pageOptions{reserve: room.reserve, retry: as.retry && idle == 0})
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
			r.outcome, r.after, r.page, r.fault = outcomeAnswered, after, got.page, nil
			return
		}
		room.releaseAll()
		from = after
	}
}

// fail notes why there is no page. A repetition that was not sent leaves what
// was known before.
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
	}
	if q.Endpoint != nil {
		c.Endpoint = q.Endpoint(r.name)
	}
	for _, e := range q.Endpoints {
		if e.Region == r.name {
			c.Endpoint = e
		}
	}
	return c
}

// room is what one region's page takes of the share.
type pageMemory struct {
	build     *pageBuild
	exclusive bool  // what it can want was taken beforehand
	prepaid   int64 // of that, not used so far
	taken     int64
}

// elementCost is what an element takes beside its bytes, roughly: where it lies,
// and its place among the ids of the page.
const elementCost = 80

// reserve takes room before it is made. Where the list holds nothing it waits,
// within bounds.
func (r *pageMemory) reserve(ctx context.Context, n int64) error {
	if r.prepaid >= n {
		r.prepaid -= n
		r.taken += n
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, r.build.lister.timeShare(memoryWaitShare))
	defer cancel()
	if err := r.build.memory.Grow(waiting, n); err != nil {
		return err
	}
	r.taken += n
	return nil
}

// elements takes the room that a page's elements have taken already.
func (r *pageMemory) reserveElements(ctx context.Context, n int) error {
	bytes := int64(n) * elementCost
	if !r.exclusive {
		return r.reserve(ctx, bytes)
	}
	r.build.memory.ForceGrow(bytes)
	r.taken += bytes
	return nil
}

// empty gives back what a page without elements took.
func (r *pageMemory) releaseAll() {
	if r.exclusive {
		r.prepaid += r.taken
	} else {
		r.build.memory.Shrink(r.taken)
	}
	r.taken = 0
}

// settle leaves the result with what it holds, and gives back the rest.
func (r *pageMemory) finish(to *regionResult) {
	if to.outcome != outcomeAnswered {
		r.releaseAll()
	}
	to.held = r.taken
	r.build.memory.Shrink(r.prepaid)
}
