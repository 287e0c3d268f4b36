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
	regionsAtOnce = 32
	// idleAtOnce is how many empty pages of a region are passed over for one
	// merged page.
	idleAtOnce = 16
)

// pass is the making of one merged page. It asks regions, asks what failed once
// more, judges what failed again, and takes the walk on as far as the token can
// tell.
type pass struct {
	lister  *Lister
	request Request
	own     ownQuery
	walk    *walk
	top     int // 0: whatever the providers give
	share   *limits.MemoryShare

	until   time.Time // when first attempts must have ended
	results []*result // of the regions that were asked, in their order
	token   string    // of the walk as it was settled; "" at its end
}

// result is what became of a region on this page.
type result struct {
	region  *region // in the walk
	before  region  // as it was
	after   region  // as it is behind its page, where it answered
	outcome outcome
	page    Page
	held    int64 // bytes of the share
	ids     []string
	fault   *arm.Error // where it failed
	share   bool       // what there is no room in is the caller's share
}

// outcome is what a region came to on a page.
type outcome uint8

const (
	answered  outcome = iota
	broke             // it failed
	deferred          // there is no room for its page; it stays where it was
	busy              // the same, though nothing was held
	postponed         // it failed, and the page is full without it
)

var outcomes = [...]string{"answered", "failed", "deferred", "busy", "postponed"}

func (p *pass) run(ctx context.Context) (*Merged, error) {
	began := p.request.Began
	p.until = began.Add(p.lister.share(firstShare))
	tries, cancel := context.WithDeadline(ctx, began.Add(p.lister.share(wholeShare)))
	defer cancel()
	p.ask(tries)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.walk.partial = p.request.partial(p.walk)
	fault := p.judge()
	if fault == nil {
		fault = p.settle()
	}
	p.lister.metrics.regions(p.results)
	if fault != nil {
		return nil, fault
	}
	return p.merged(), nil
}

// ask asks the regions that this page is made of, and once more those that
// failed, when the others have answered.
func (p *pass) ask(ctx context.Context) {
	first, cancel := context.WithDeadline(ctx, p.until)
	defer cancel()
	open := p.walk.open()
	if p.top > 0 {
		p.inOrder(first, open)
	} else {
		if p.walk.width > 0 {
			open = open[:min(len(open), p.walk.width)]
		}
		for _, r := range open {
			p.results = append(p.results, &result{region: r, before: *r})
		}
		p.atOnce(first, p.results, false)
	}
	p.alone(ctx)
	p.onceMore(ctx)
}

// atOnce asks regions at the same time, and returns when all have answered.
func (p *pass) atOnce(ctx context.Context, results []*result, repeats bool) {
	limits.Each(regionsAtOnce, len(results), func(i int) { p.one(ctx, results[i], attempt{repeats: repeats}) })
}

// inOrder asks one region after the other for what the page still lacks, until
// one of them goes on: the next page begins there. A page also ends while there
// is time to ask once more for what failed.
func (p *pass) inOrder(ctx context.Context, open []*region) {
	soon := p.request.Began.Add(p.lister.share(orderShare))
	for i, r := range open {
		lacks := p.lacks()
		if lacks <= 0 || i > 0 && time.Now().After(soon) {
			return
		}
		result := &result{region: r, before: *r}
		p.results = append(p.results, result)
		p.one(ctx, result, attempt{top: lacks})
		switch {
		case result.outcome == deferred || result.outcome == busy:
			return
		case result.outcome == answered && result.after.state == at:
			return
		}
	}
}

// lacks is how many elements a page of a given size still wants.
func (p *pass) lacks() int {
	n := p.top
	for _, r := range p.results {
		n -= len(r.page.Elements)
	}
	return n
}

// alone asks one region with all the room that a page can take, where there was
// none for any: so every list goes on.
func (p *pass) alone(ctx context.Context) {
	var first *result
	for _, r := range p.results {
		switch r.outcome {
		case answered:
			return
		case deferred, busy:
			if first == nil {
				first = r
			}
		case broke, postponed:
		}
	}
	if first == nil {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, p.lister.share(waitShare))
	defer cancel()
	room := p.lister.options.PageSize + 1
	if err := p.share.Take(waiting, room); err != nil {
		first.fail(err, p.request.Namespace)
		first.outcome = busy
		return
	}
	p.one(ctx, first, attempt{top: p.top, room: room})
}

// onceMore asks again the regions that failed, unless there is no hope in it.
func (p *pass) onceMore(ctx context.Context) {
	var again []*result
	for _, r := range p.results {
		if r.outcome != broke || final(r.fault) {
			continue
		}
		if p.top > 0 && p.lacks() <= 0 {
			r.outcome = postponed
			continue
		}
		again = append(again, r)
	}
	if len(again) == 0 || ctx.Err() != nil {
		return
	}
	if p.top == 0 {
		p.atOnce(ctx, again, true)
		return
	}
	for _, r := range again {
		if lacks := p.lacks(); lacks > 0 {
			p.one(ctx, r, attempt{top: lacks, repeats: true})
		} else {
			r.outcome = postponed
		}
	}
}

// attempt is how a region is asked.
type attempt struct {
	top     int   // 0: for whatever it gives
	room    int64 // taken from the share beforehand
	repeats bool
}

// one asks a region for its next page, and on while its pages are empty.
func (p *pass) one(ctx context.Context, r *result, as attempt) {
	from := r.before
	if from.state == todo {
		from.query = p.own.raw
	}
	c := p.collection(from)
	room := &room{pass: p, alone: as.room > 0, prepaid: as.room}
	defer room.settle(r)
	for idle := 0; ; idle++ {
		if as.top > 0 {
			from.query = withTop(from.query, as.top)
		}
		after, got, err := c.step(ctx, from, call{reserve: room.reserve, repeats: as.repeats && idle == 0})
		if got.requestID != "" {
			r.ids = append(r.ids, got.requestID)
		}
		if err == nil {
			err = room.elements(ctx, len(got.page.Elements))
		}
		if err != nil {
			r.fail(err, p.request.Namespace)
			return
		}
		if after.state == done || len(got.page.Elements) > 0 || idle == idleAtOnce || time.Now().After(p.until) {
			r.outcome, r.after, r.page, r.fault = answered, after, got.page, nil
			return
		}
		room.empty()
		from = after
	}
}

// fail notes why there is no page. A repetition that was not sent leaves what
// was known before.
func (r *result) fail(err error, namespace string) {
	var fault *arm.Error
	r.share = errors.Is(err, limits.ErrShare)
	switch {
	case errors.Is(err, limits.ErrNoRoom):
		r.outcome, r.fault = deferred, nil
	case errors.Is(err, limits.ErrBusy):
		r.outcome, r.fault = busy, nil
	case errors.As(err, &fault):
		r.outcome, r.fault = broke, fault
	case r.fault == nil:
		r.outcome, r.fault = broke, readFault(err, namespace)
	}
}

func (p *pass) collection(r region) Collection {
	q := p.request
	c := Collection{
		Reader: p.lister.options.Reader, Namespace: q.Namespace, Public: p.lister.options.Public,
		Path: q.Path, Query: p.own.raw, Header: q.Header, Caller: q.Caller,
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
type room struct {
	pass    *pass
	alone   bool  // what it can want was taken beforehand
	prepaid int64 // of that, not used so far
	taken   int64
}

// elementCost is what an element takes beside its bytes, roughly: where it lies,
// and its place among the ids of the page.
const elementCost = 80

// reserve takes room before it is made. Where the list holds nothing it waits,
// within bounds.
func (r *room) reserve(ctx context.Context, n int64) error {
	if r.prepaid >= n {
		r.prepaid -= n
		r.taken += n
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, r.pass.lister.share(waitShare))
	defer cancel()
	if err := r.pass.share.Take(waiting, n); err != nil {
		return err
	}
	r.taken += n
	return nil
}

// elements takes the room that a page's elements have taken already.
func (r *room) elements(ctx context.Context, n int) error {
	bytes := int64(n) * elementCost
	if !r.alone {
		return r.reserve(ctx, bytes)
	}
	r.pass.share.Force(bytes)
	r.taken += bytes
	return nil
}

// empty gives back what a page without elements took.
func (r *room) empty() {
	if r.alone {
		r.prepaid += r.taken
	} else {
		r.pass.share.Give(r.taken)
	}
	r.taken = 0
}

// settle leaves the result with what it holds, and gives back the rest.
func (r *room) settle(to *result) {
	if to.outcome != answered {
		r.empty()
	}
	to.held = r.taken
	r.pass.share.Give(r.prepaid)
}
