package deletionplan

import "time"

// Next returns the resources to call now. They count as in flight until OnResult gets the
// result of each.
func (p *Queue) Next(now time.Time) []*Resource {
	if p.stopped {
		return nil
	}
	if p.counts[Parked] > 0 && p.counts[Parked] == len(p.Resources) {
		p.nextPass(now)
	}
	if p.counts[Waiting] == 0 || p.counts[InFlight] >= p.limits.PerJob {
		return nil
	}
	var orders, held []*Resource
	delayed := false
	for _, m := range p.all {
		switch {
		case m.State != Waiting || p.Resources[m.Key] != m:
		case m.Due.After(now):
			delayed = delayed || !m.Unreachable
		case p.heldBack(m):
			held = append(held, m)
		default:
			orders = p.addOrder(orders, m)
		}
	}
	if len(orders) == 0 && p.counts[InFlight] == 0 && p.counts[Accepted] == 0 && !delayed {
		// The resources hold each other back. A hint must not do so for ever.
		for _, m := range held {
			orders = p.addOrder(orders, m)
		}
	}
	return orders
}

// nextPass gives every parked resource another try that could succeed now.
func (p *Queue) nextPass(now time.Time) {
	if !p.canPass() {
		return
	}
	p.pass++
	for _, m := range p.all {
		if p.Resources[m.Key] == m && p.mayGoNow(m) {
			m.Blockers, m.Due = nil, now.Add(p.limits.Pause)
			p.setState(m, Waiting, false)
		}
	}
}

// addOrder adds a resource to the orders, within the limits.
func (p *Queue) addOrder(orders []*Resource, m *Resource) []*Resource {
	if p.counts[InFlight] >= p.limits.PerJob || p.atEndpoint[m.Endpoint] >= p.limits.PerEndpoint {
		return orders
	}
	m.Tried, m.Again, m.typesAtSend = len(p.gone), false, p.tally.typesPresent()
	p.setState(m, InFlight, m.Unreachable) // until its region answers
	return append(orders, m)
}

// heldBack reports whether another resource has to go before this one, and is about to: its
// parent, if deleting that deletes this one too; its children, if its provider would
// refuse otherwise; its manager; and resources of the types that are known to go before
// its own.
func (p *Queue) heldBack(m *Resource) bool {
	if parent := p.Resources[m.Parent]; parent != nil && !parent.Refuses && parent.active() {
		return true
	}
	if m.Refuses {
		for _, child := range p.below[m.Key] {
			if p.Resources[child.Key] == child && child.active() {
				return true
			}
		}
	}
	if manager := p.Resources[m.Manager]; manager != nil && manager != m && manager.active() {
		return true
	}
	for typ := range p.before[m.Type] {
		if p.activeOf[typ] > 0 {
			return true
		}
	}
	return false
}

// Wake returns when the first of the resources that wait for their time may be called;
// false if none waits.
func (p *Queue) Wake() (first time.Time, waits bool) {
	for _, m := range p.Resources {
		if m.State == Waiting && !p.stopped && (!waits || m.Due.Before(first)) {
			first, waits = m.Due, true
		}
	}
	return first, waits
}
