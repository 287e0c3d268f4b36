package fanout

import (
	"errors"
	"slices"
	"time"

	"portico/arm"
	"portico/upstream/answers"
)

// busyRetry is the Retry-After of a list that got no memory.
const busyRetry = 5 * time.Second

// Bounds of a token. No further region is started if that would make the token longer
// than tokenTarget; regions in progress may use it up to tokenLimit, since a region's
// next query may be longer than its last. A few bytes are left for the width.
const (
	tokenTarget = 4<<10 - widthRoom
	widthRoom   = 8
)

// tokenLimit returns the bytes left for a token in the next page's link.
func (p *pageBuild) tokenLimit() int { return MaxTarget - len(p.nextTarget("")) - widthRoom }

// nextTarget returns path and query of the next page.
func (p *pageBuild) nextTarget(token string) string {
	query := p.request.Query.Without(skipToken)
	if query != "" {
		query += "&"
	}
	return p.request.Path.Escaped() + "?" + query + skipToken + "=" + token
}

// checkFailures returns the fault if failed regions fail the list. If the
// list may be partial, it gives them up.
func (p *pageBuild) checkFailures() *arm.Error {
	var faults []failedRegion
	refused, some := false, p.cursor.anyAnswered
	for _, r := range p.results {
		switch r.outcome {
		case outcomeFailed:
			if !slices.ContainsFunc(faults, func(f failedRegion) bool { return f.region == r.region.name }) { // another part of that region
				faults = append(faults, failedRegion{r.region.name, r.fault})
			}
			refused = refused || denied(r.fault)
		case outcomeAnswered:
			some = true
		case outcomeDeferred, outcomeBusy, outcomePostponed:
		}
	}
	if len(faults) == 0 {
		return p.noMemoryFault()
	}
	if p.request.Sole {
		faults[0].fault.Regions = []string{faults[0].region}
		return soleFault(faults[0].fault)
	}
	fault := listFault(faults, p.regionCount(), p.request.Namespace)
	for _, f := range faults {
		if linkTooLong(f.fault) {
			fault = p.linkTooLongFault(f.region)
		}
	}
	if refused || !p.cursor.partial {
		return fault
	}
	for _, r := range p.results {
		if r.outcome == outcomeFailed {
			r.region.state = givenUp
		}
	}
	if !some && p.cursor.ended() {
		return fault
	}
	return nil
}

// regionCount returns the number of regions that were called.
func (p *pageBuild) regionCount() int {
	names := map[string]bool{}
	for _, r := range p.results {
		names[r.region.name] = true
	}
	return len(names)
}

// noMemoryFault returns the fault of a page if no region had room, else nil.
func (p *pageBuild) noMemoryFault() *arm.Error {
	if len(p.results) == 0 { // a list of parts without elements
		return nil
	}
	share := false
	for _, r := range p.results {
		if r.outcome != outcomeBusy && r.outcome != outcomeDeferred {
			return nil
		}
		share = share || r.callerShareFull
	}
	return noMemory(share)
}

// noMemory returns the fault of a list that got no memory of the lists'
// budget. ofCaller means that the caller's own share is used up.
func noMemory(ofCaller bool) *arm.Error {
	fault := arm.NewError(arm.ServerBusy, "other lists hold all the memory that there is for them")
	if ofCaller {
		fault = arm.NewError(arm.TooManyRequests, "other lists of this caller hold all the memory that one caller may have for them")
	}
	fault.RetryAfter = busyRetry
	return fault
}

// advanceCursor applies the regions' answers to the cursor and seals it.
func (p *pageBuild) advanceCursor() *arm.Error {
	kept := 0
	for _, r := range p.results {
		if r.outcome == outcomeAnswered {
			p.cursor.anyAnswered = true
			kept++
			*r.region = r.after
		}
	}
	if p.cursor.parts {
		p.cursor.dropLost()
	}
	p.requeue()
	// If no region advanced, this page has not made the token longer.
	if kept > 0 && len(p.sealCursor()) > min(tokenTarget, p.tokenLimit()) {
		if kept = p.fitToken(kept); kept == 0 && !p.deferUnstarted() {
			return p.tokenTooLongFault()
		}
	}
	p.adaptWidth(kept)
	p.token = p.sealCursor()
	return nil
}

// adaptWidth sets the number of regions to call concurrently on the next page: the
// number that fitted, if some did not; one more than before, if there was room to spare.
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

// requeue moves postponed regions to the end of the cursor.
func (p *pageBuild) requeue() {
	late := map[*regionCursor]bool{}
	for _, r := range p.results {
		late[r.region] = r.outcome == outcomePostponed
	}
	p.cursor.moveToEnd(func(r *regionCursor) bool { return late[r] })
}

// fitToken reverts regions, of the given number that advanced, until the
// token is short enough, and returns how many are left. Reverted regions keep
// their position for a later page.
func (p *pageBuild) fitToken(kept int) int {
	var open []*regionResult
	for _, r := range p.results {
		if r.outcome == outcomeAnswered && r.after.state == inProgress {
			open = append(open, r)
			*r.region = r.before
		}
	}
	started := slices.ContainsFunc(p.cursor.regions, func(r *regionCursor) bool { return r.state == inProgress })
	for _, r := range open {
		limit := p.tokenLimit()
		if started && r.before.state == notStarted {
			limit = min(limit, tokenTarget)
		}
		*r.region = r.after
		if len(p.sealCursor()) <= limit {
			started = true
			continue
		}
		*r.region = r.before
		r.outcome, r.page = outcomeDeferred, Page{}
		p.memory.Shrink(r.memory)
		kept--
	}
	return kept
}

// deferUnstarted moves unstarted regions after those in progress if the latter leave no
// room in the token; they start when the others have ended. It returns false if that
// cannot help: a region in progress does not fit, or there is none.
func (p *pageBuild) deferUnstarted() bool {
	for _, r := range p.results {
		if r.outcome == outcomeDeferred && r.before.state == inProgress {
			return false
		}
	}
	started := func(r *regionCursor) bool { return r.state == inProgress }
	if !slices.ContainsFunc(p.cursor.regions, started) {
		return false
	}
	p.cursor.moveToEnd(func(r *regionCursor) bool { return !started(r) })
	return true
}

// tokenTooLongFault returns the fault of a region whose next query does not fit the token.
func (p *pageBuild) tokenTooLongFault() *arm.Error {
	for _, r := range p.results {
		if r.outcome == outcomeDeferred && r.after.state == inProgress {
			return p.linkTooLongFault(r.region.name)
		}
	}
	return p.noMemoryFault()
}

// linkTooLongFault returns the fault of a list that fails because of a
// region's link: no other request has room for the link either.
func (p *pageBuild) linkTooLongFault(region string) *arm.Error {
	return p.collection(regionCursor{name: region}).invalid("in the region '" + region + "' " + ErrLinkTooLong.Error()).WithTarget("nextLink")
}

// linkTooLong reports whether a region failed because of the length of its link.
func linkTooLong(fault *arm.Error) bool { return errors.Is(fault.Cause, ErrLinkTooLong) }

// sealCursor returns the token of the cursor, "" at the end of the list.
func (p *pageBuild) sealCursor() string {
	if p.cursor.ended() {
		return ""
	}
	p.cursor.issued = time.Now()
	return p.lister.options.Keys.seal(p.cursor.encode(p.query), p.query.digest(p.request.Path), p.request.Principal)
}

func (p *pageBuild) mergedPage() *MergedPage {
	m := &MergedPage{memory: p.memory, buffers: p.lister.buffers}
	lacking := p.cursor.unreachable()
	m.Complete = len(lacking) == 0
	if p.token != "" {
		m.NextLink = answers.PublicLink(p.lister.options.Public, p.nextTarget(p.token), "")
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
