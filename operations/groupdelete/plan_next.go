package groupdelete

import "time"

// next returns the members to call for now. They count as in flight until onResult has
// the result of each.
func (p *plan) next(now time.Time) []*member {
	if p.counts[memberParked] > 0 && p.counts[memberParked] == len(p.members) {
		p.nextPass(now)
	}
	if p.counts[memberWaiting] == 0 || p.counts[memberInFlight] >= p.limits.perJob {
		return nil
	}
	var orders, held []*member
	delayed := false
	for _, m := range p.all {
		switch {
		case m.state != memberWaiting || p.members[m.key] != m:
		case m.due.After(now):
			delayed = delayed || !m.unreachable
		case p.held(m):
			held = append(held, m)
		default:
			orders = p.send(orders, m)
		}
	}
	if len(orders) == 0 && p.counts[memberInFlight] == 0 && p.counts[memberAccepted] == 0 && !delayed {
		// They hold each other back. No hint may do so for ever.
		for _, m := range held {
			orders = p.send(orders, m)
		}
	}
	return orders
}

// nextPass gives everything that is parked another try, if anything has gone
// since it had its last.
func (p *plan) nextPass(now time.Time) {
	if !p.canPass() {
		return
	}
	p.pass++
	for _, m := range p.all {
		if p.members[m.key] == m && m.state == memberParked && m.tried < len(p.went) {
			m.blockers, m.due = nil, now.Add(p.limits.pause)
			p.become(m, memberWaiting, false)
		}
	}
}

// send adds a member to the orders, within the limits.
func (p *plan) send(orders []*member, m *member) []*member {
	if p.counts[memberInFlight] >= p.limits.perJob || p.atEndpoint[m.endpoint] >= p.limits.perEndpoint {
		return orders
	}
	m.tried, m.among = len(p.went), p.tally.typesPresent()
	p.become(m, memberInFlight, false)
	return append(orders, m)
}

// held reports whether something else is to go before a member, and is about to: its
// parent, where that takes it along; its children, where it would be refused otherwise;
// what manages it; and the types that are known to go before its own.
func (p *plan) held(m *member) bool {
	if parent := p.members[m.parent]; parent != nil && !parent.refuses && parent.active() {
		return true
	}
	if m.refuses {
		for _, child := range p.below[m.key] {
			if p.members[child.key] == child && child.active() {
				return true
			}
		}
	}
	if manager := p.members[m.manager]; manager != nil && manager != m && manager.active() {
		return true
	}
	for typ := range p.before[m.typ] {
		if p.activeOf[typ] > 0 {
			return true
		}
	}
	return false
}

// wake is when the first of the members that wait for their time may be called
// for; false when none does.
func (p *plan) wake() (first time.Time, waits bool) {
	for _, m := range p.members {
		if m.state == memberWaiting && (!waits || m.due.Before(first)) {
			first, waits = m.due, true
		}
	}
	return first, waits
}
