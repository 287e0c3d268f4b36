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
	tokenTarget = 4<<10 - 8
	tokenLimit  = maxToken - 8
)

// judge decides whether what failed fails the list, and gives up the regions
// that a partial list goes without.
func (p *pageBuild) checkFailures() *arm.Error {
	var faults []failedRegion
	refused, some := false, p.cursor.anyAnswered
	for _, r := range p.results {
		switch r.outcome {
		case outcomeFailed:
			faults = append(faults, failedRegion{r.region.name, r.fault})
			refused = refused || denied(r.fault)
		case outcomeAnswered:
			some = true
		case outcomeDeferred, outcomeBusy, outcomePostponed:
		}
	}
	if len(faults) == 0 {
		return p.noMemoryFault()
	}
	fault := listFault(faults, len(p.results), p.request.Namespace)
	if refused || !p.cursor.partial {
		return fault
	}
	for _, r := range p.results {
		if r.outcome == outcomeFailed {
			r.region.state = givenUp
		}
	}
	if !some && len(p.cursor.remaining()) == 0 {
		return fault
	}
	return nil
}

// progress is the fault of a page for which there was no room at all.
func (p *pageBuild) noMemoryFault() *arm.Error {
	share := false
	for _, r := range p.results {
		if r.outcome != outcomeBusy && r.outcome != outcomeDeferred {
			return nil
		}
		share = share || r.callerShareFull
	}
	fault := arm.NewError(arm.ServerBusy, "other lists hold all the memory that there is for them")
	if share {
		fault = arm.NewError(arm.TooManyRequests, "other lists of this caller hold all the memory that one caller may have for them")
	}
	fault.RetryAfter = busyRetry
	return fault
}

// settle takes the walk on by what the regions answered.
func (p *pageBuild) advanceCursor() *arm.Error {
	kept := 0
	for _, r := range p.results {
		if r.outcome == outcomeAnswered {
			p.cursor.anyAnswered = true
			kept++
			*r.region = r.after
		}
	}
	p.requeue()
	// Where nobody was taken on, the token is none that this page made longer.
	if kept > 0 && len(p.sealCursor()) > tokenTarget {
		if kept = p.fitToken(kept); kept == 0 && !p.deferUnstarted() {
			return p.tokenTooLongFault()
		}
	}
	p.adaptWidth(kept)
	p.token = p.sealCursor()
	return nil
}

// crowd learns how many regions can be asked at once: as many as fitted, where
// some did not; one more than before, where there was room to spare.
func (p *pageBuild) adaptWidth(fitted int) {
	crowded := slices.ContainsFunc(p.results, func(r *regionResult) bool { return r.outcome == outcomeDeferred || r.outcome == outcomeBusy })
	spare := 2*p.memory.Size() < p.lister.options.Memory && 2*len(p.sealCursor()) < tokenTarget
	switch w := p.cursor; {
	case p.top > 0:
	case crowded:
		w.width = max(1, fitted)
	case w.width > 0 && spare:
		w.width = min(w.width+1, len(w.regions))
	}
}

// order moves what was postponed to the end of the walk.
func (p *pageBuild) requeue() {
	late := map[*regionCursor]bool{}
	for _, r := range p.results {
		late[r.region] = r.outcome == outcomePostponed
	}
	p.cursor.moveToEnd(func(r *regionCursor) bool { return late[r] })
}

// fit takes back as many of the kept regions as must be for the token not to be
// too long, and returns how many are left. Those stay where they were, for a
// later page.
func (p *pageBuild) fitToken(kept int) int {
	var open []*regionResult
	for _, r := range p.results {
		if r.outcome == outcomeAnswered && r.after.state == inProgress {
			open = append(open, r)
			*r.region = r.before
		}
	}
	begun := slices.ContainsFunc(p.cursor.regions, func(r *regionCursor) bool { return r.state == inProgress })
	for _, r := range open {
		limit := tokenLimit
		if begun && r.before.state == notStarted {
			limit = tokenTarget
		}
		*r.region = r.after
		if len(p.sealCursor()) <= limit {
			begun = true
			continue
		}
		*r.region = r.before
		r.outcome, r.page = outcomeDeferred, Page{}
		p.memory.Shrink(r.held)
		kept--
	}
	return kept
}

// behind moves the regions that were to be begun behind those that are open, where
// these leave no room for them: so they are begun when these have ended. It
// returns false where what does not fit is open itself, or stands in its own way.
func (p *pageBuild) deferUnstarted() bool {
	for _, r := range p.results {
		if r.outcome == outcomeDeferred && r.before.state == inProgress {
			return false
		}
	}
	begun := func(r *regionCursor) bool { return r.state == inProgress }
	if !slices.ContainsFunc(p.cursor.regions, begun) {
		return false
	}
	p.cursor.moveToEnd(func(r *regionCursor) bool { return !begun(r) })
	return true
}

// oversized is the fault of regions whose next queries no token can carry.
func (p *pageBuild) tokenTooLongFault() *arm.Error {
	var faults []failedRegion
	for _, r := range p.results {
		if r.outcome == outcomeDeferred && r.after.state == inProgress {
			faults = append(faults, failedRegion{r.region.name, p.collection(r.before).invalid("its nextLink is too long")})
		}
	}
	return listFault(faults, len(p.results), p.request.Namespace)
}

// seal makes the token of the walk, "" where nothing is left of it.
func (p *pageBuild) sealCursor() string {
	if len(p.cursor.remaining()) == 0 {
		return ""
	}
	p.cursor.issued = time.Now()
	return p.lister.options.Keys.seal(p.cursor.encode(p.query), p.query.digest(p.request.Path))
}

// merged makes the page of what was settled.
func (p *pageBuild) mergedPage() *MergedPage {
	m := &MergedPage{memory: p.memory}
	lacking := p.cursor.unreachable()
	m.Complete = len(lacking) == 0
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
		if r.outcome == outcomeAnswered && r.page.Text != nil {
			pages = append(pages, r.page)
		}
	}
	m.build(pages)
	return m
}
