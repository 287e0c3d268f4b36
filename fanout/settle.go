package fanout

import (
	"slices"
	"time"

	"portico/arm"
)

// busyRetry is when a client may ask again whose list found no room.
const busyRetry = 5 * time.Second

// Bounds of a token: no further region is opened on a page if that made it
// longer than fullToken; those that are open go on until longestToken, since the
// next query of one may be longer than its last. A few bytes are left for the
// number of regions that fit at once.
const (
	fullToken   = 4<<10 - 8
	roomInToken = longestToken - 8
)

// judge decides whether what failed fails the list, and gives up the regions
// that a partial list goes without.
func (p *pass) judge() *arm.Error {
	var faults []regionFault
	refused, some := false, p.walk.answered
	for _, r := range p.results {
		switch r.outcome {
		case broke:
			faults = append(faults, regionFault{r.region.name, r.fault})
			refused = refused || denied(r.fault)
		case answered:
			some = true
		case deferred, busy, postponed:
		}
	}
	if len(faults) == 0 {
		return p.progress()
	}
	fault := failure(faults, len(p.results), p.request.Namespace)
	if refused || !p.walk.partial {
		return fault
	}
	for _, r := range p.results {
		if r.outcome == broke {
			r.region.state = failed
		}
	}
	if !some && len(p.walk.open()) == 0 {
		return fault
	}
	return nil
}

// progress is the fault of a page for which there was no room at all.
func (p *pass) progress() *arm.Error {
	share := false
	for _, r := range p.results {
		if r.outcome != busy && r.outcome != deferred {
			return nil
		}
		share = share || r.share
	}
	fault := arm.NewError(arm.ServerBusy, "other lists hold all the memory that there is for them")
	if share {
		fault = arm.NewError(arm.TooManyRequests, "other lists of this caller hold all the memory that one caller may have for them")
	}
	fault.RetryAfter = busyRetry
	return fault
}

// settle takes the walk on by what the regions answered.
func (p *pass) settle() *arm.Error {
	kept := 0
	for _, r := range p.results {
		if r.outcome == answered {
			p.walk.answered = true
			kept++
			*r.region = r.after
		}
	}
	p.order()
	// Where nobody was taken on, the token is none that this page made longer.
	if kept > 0 && len(p.seal()) > fullToken {
		if kept = p.fit(kept); kept == 0 && !p.behind() {
			return p.oversized()
		}
	}
	p.crowd(kept)
	p.token = p.seal()
	return nil
}

// crowd learns how many regions can be asked at once: as many as fitted, where
// some did not; one more than before, where there was room to spare.
func (p *pass) crowd(fitted int) {
	crowded := slices.ContainsFunc(p.results, func(r *result) bool { return r.outcome == deferred || r.outcome == busy })
	spare := 2*p.share.Holds() < p.lister.options.Memory && 2*len(p.seal()) < fullToken
	switch w := p.walk; {
	case p.top > 0:
	case crowded:
		w.width = max(1, fitted)
	case w.width > 0 && spare:
		w.width = min(w.width+1, len(w.regions))
	}
}

// order moves what was postponed to the end of the walk.
func (p *pass) order() {
	late := map[*region]bool{}
	for _, r := range p.results {
		late[r.region] = r.outcome == postponed
	}
	p.walk.putBehind(func(r *region) bool { return late[r] })
}

// fit takes back as many of the kept regions as must be for the token not to be
// too long, and returns how many are left. Those stay where they were, for a
// later page.
func (p *pass) fit(kept int) int {
	var open []*result
	for _, r := range p.results {
		if r.outcome == answered && r.after.state == at {
			open = append(open, r)
			*r.region = r.before
		}
	}
	begun := slices.ContainsFunc(p.walk.regions, func(r *region) bool { return r.state == at })
	for _, r := range open {
		limit := roomInToken
		if begun && r.before.state == todo {
			limit = fullToken
		}
		*r.region = r.after
		if len(p.seal()) <= limit {
			begun = true
			continue
		}
		*r.region = r.before
		r.outcome, r.page = deferred, Page{}
		p.share.Give(r.held)
		kept--
	}
	return kept
}

// behind moves the regions that were to be begun behind those that are open, where
// these leave no room for them: so they are begun when these have ended. It
// returns false where what does not fit is open itself, or stands in its own way.
func (p *pass) behind() bool {
	for _, r := range p.results {
		if r.outcome == deferred && r.before.state == at {
			return false
		}
	}
	begun := func(r *region) bool { return r.state == at }
	if !slices.ContainsFunc(p.walk.regions, begun) {
		return false
	}
	p.walk.putBehind(func(r *region) bool { return !begun(r) })
	return true
}

// oversized is the fault of regions whose next queries no token can carry.
func (p *pass) oversized() *arm.Error {
	var faults []regionFault
	for _, r := range p.results {
		if r.outcome == deferred && r.after.state == at {
			faults = append(faults, regionFault{r.region.name, p.collection(r.before).invalid("its nextLink is too long")})
		}
	}
	return failure(faults, len(p.results), p.request.Namespace)
}

// seal makes the token of the walk, "" where nothing is left of it.
func (p *pass) seal() string {
	if len(p.walk.open()) == 0 {
		return ""
	}
	p.walk.issued = time.Now()
	return p.lister.options.Keys.seal(p.walk.encode(p.own), p.own.digest(p.request.Path))
}

// merged makes the page of what was settled.
func (p *pass) merged() *Merged {
	m := &Merged{share: p.share}
	lacking := p.walk.unreachable()
	m.Completed = len(lacking) == 0
	if p.token != "" {
		query := p.request.Query.Without(skipToken)
		if query != "" {
			query += "&"
		}
		m.NextLink = PublicLink(p.lister.options.Public, p.request.Path.Escaped(), query+skipToken+"="+p.token)
	} else {
		slices.Sort(lacking)
		m.Unreachable = lacking
	}
	var pages []Page
	for _, r := range p.results {
		m.RequestIDs = append(m.RequestIDs, r.ids...)
		if r.outcome == answered && r.page.Text != nil {
			pages = append(pages, r.page)
		}
	}
	m.merge(pages)
	return m
}
