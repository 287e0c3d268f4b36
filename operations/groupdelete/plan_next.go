package groupdelete

import "time"

// next returns the members to call for now. They count as in flight until onResult has
// the result of each.
func (d *plan) next(now time.Time) []*member {
	if d.counts[memberParked] > 0 && d.counts[memberParked] == len(d.members) {
		d.nextPass(now)
	}
	if d.counts[memberWaiting] == 0 || d.counts[memberInFlight] >= d.limits.perJob {
		return nil
	}
	var orders, held []*member
	delayed := false
	for _, m := range d.all {
		switch {
		case m.state != memberWaiting || d.members[m.key] != m:
		case m.due.After(now):
			delayed = delayed || !m.unreachable
		case d.held(m):
			held = append(held, m)
		default:
			orders = d.send(orders, m)
		}
	}
	if len(orders) == 0 && d.counts[memberInFlight] == 0 && d.counts[memberAccepted] == 0 && !delayed {
		// They hold each other back. No hint may do so for ever.
		for _, m := range held {
			orders = d.send(orders, m)
		}
	}
	return orders
}

// nextPass gives everything that is parked another try, if anything has gone
// since it had its last.
func (d *plan) nextPass(now time.Time) {
	if !d.canPass() {
		return
	}
	d.pass++
	for _, m := range d.all {
		if d.members[m.key] == m && m.state == memberParked && m.tried < len(d.went) {
			m.blockers, m.due = nil, now.Add(d.limits.pause)
			d.become(m, memberWaiting, false)
		}
	}
}

// send adds a member to the orders, within the limits.
func (d *plan) send(orders []*member, m *member) []*member {
	if d.counts[memberInFlight] >= d.limits.perJob || d.atEndpoint[m.endpoint] >= d.limits.perEndpoint {
		return orders
	}
	m.tried, m.among = len(d.went), d.tally.standing()
	d.become(m, memberInFlight, false)
	return append(orders, m)
}

// held reports whether something else is to go before a member, and is about to: its
// parent, where that takes it along; its children, where it would be refused otherwise;
// what manages it; and the types that are known to go before its own.
func (d *plan) held(m *member) bool {
	if parent := d.members[m.parent]; parent != nil && !parent.refuses && parent.active() {
		return true
	}
	if m.refuses {
		for _, child := range d.below[m.key] {
			if d.members[child.key] == child && child.active() {
				return true
			}
		}
	}
	if manager := d.members[m.manager]; manager != nil && manager != m && manager.active() {
		return true
	}
	for typ := range d.before[m.typ] {
		if d.activeOf[typ] > 0 {
			return true
		}
	}
	return false
}

// wake is when the first of the members that wait for their time may be called
// for; false when none does.
func (d *plan) wake() (first time.Time, waits bool) {
	for _, m := range d.members {
		if m.state == memberWaiting && (!waits || m.due.Before(first)) {
			first, waits = m.due, true
		}
	}
	return first, waits
}
