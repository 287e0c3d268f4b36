package outage

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// judge holds each call to what is promised of it.
func (c *callers) judge(t *testing.T, rounds []marks) {
	t.Helper()
	for _, m := range rounds {
		faults := map[string]int{}
		for _, one := range c.since(m.began) {
			if one.began > m.ended {
				continue
			}
			if fault := c.faultOf(one, m); fault != "" {
				if faults[fault]++; faults[fault] <= 3 {
					t.Errorf("%s: %+v, in a round of %+v", fault, one, m)
				}
			}
		}
		// Memory is as the store last answered, a second before or two, for as long as it answers.
		if least, _ := c.lastServed(readResource, m); least < c.ttl/4 {
			t.Errorf("without the store, a gateway served reads from memory for %v only, in a round of %+v", least, m)
		}
		for fault, n := range faults {
			t.Errorf("%d times: %s", n, fault)
		}
	}
	c.judgeUnpolled(t, func(accepted time.Duration) bool {
		return slices.ContainsFunc(rounds, func(m marks) bool { return accepted > m.stopping-unrecorded && accepted < m.starting })
	})
}

// unrecorded is how long before the store ends an answer may be recorded that is lost with
// it: PostgreSQL writes what need not be durable within three times 200 ms.
const unrecorded = time.Second

// judgeUnpolled holds operations that could not be polled to be those that were accepted
// while the store went away.
func (c *callers) judgeUnpolled(t *testing.T, within func(accepted time.Duration) bool) {
	t.Helper()
	for _, accepted := range c.unpolled {
		if !within(accepted) {
			t.Errorf("an operation that was accepted at %v could not be polled", accepted)
		}
	}
}

// faultOf says what is wrong with the answer to a call, "" if nothing is.
func (c *callers) faultOf(one call, m marks) string {
	away := one.began >= m.stopped && one.ended <= m.starting
	switch {
	case one.status == 0:
		return "no answer"
	case one.kind == healthy:
		return unless(one.status == http.StatusOK, "a gateway without a store counts as broken")
	case one.kind == ready:
		switch {
		case away:
			return unless(one.status == http.StatusServiceUnavailable, "a gateway without a store is ready")
		case one.ended < m.stopping || one.began >= m.ready:
			return unless(one.status == http.StatusOK || one.tooSlow(), "a gateway with a store is not ready")
		}
		return ""
	case slices.Contains(denied, one.kind):
		return c.admissionFault(one, m)
	case one.kind == poll && one.code == notRecorded: // see judgeUnpolled
		return ""
	case !one.served() && !one.refused():
		return "neither served nor refused by 503 ServerTimeout with Retry-After"
	case one.refused() && (one.ended < m.stopping || one.began >= m.ready) && !one.tooSlow():
		return "refused while the store is there"
	case one.served() && away && !slices.Contains(reads, one.kind):
		return "served without the store"
	case one.served() && one.began >= m.expired && one.ended <= m.starting:
		return "served without the store, from memory that has expired"
	}
	return ""
}

// admissionFault says what is wrong with the answer to a caller without a role.
func (c *callers) admissionFault(one call, m marks) string {
	if one.served() {
		had := one.kind == revoked && one.began < c.withoutRole
		if one.kind == revokedLast && one.ended >= m.assigned {
			had = one.began <= m.revoked || one.gateway != 0 && one.began <= m.expired
		}
		return unless(had, "let in without a role")
	}
	if one.status == http.StatusNotFound && one.code != "" {
		return unless(one.ended < m.stopping || one.began < m.stopped || one.ended >= m.starting, "denied without the store")
	}
	return unless(one.refused() && (one.ended >= m.stopping && one.began < m.ready || one.tooSlow()), "neither denied nor refused")
}

func unless(holds bool, fault string) string {
	if holds {
		return ""
	}
	return fault
}

// judgeFailover holds each call to what is promised while the store fails over: what is not
// served is refused, and no one is let in.
func (c *callers) judgeFailover(t *testing.T, changes []change) {
	t.Helper()
	c.judgeUnpolled(t, func(accepted time.Duration) bool {
		return slices.ContainsFunc(changes, func(each change) bool { return accepted > each.began-unrecorded && accepted < each.end })
	})
	for _, one := range c.since(0) {
		switch {
		case one.kind == ready:
		case slices.Contains(denied, one.kind):
			if one.served() {
				t.Errorf("let in without a role: %+v", one)
			}
		case one.kind == poll && one.code == notRecorded: // see judgeUnpolled
		case !one.served() && !one.refused():
			t.Errorf("neither served nor refused by 503 ServerTimeout with Retry-After: %+v", one)
		}
	}
}

// lastServed returns for how long after the store had gone calls of a kind were served, at
// the gateway that did so longest and at the one that did so least.
func (c *callers) lastServed(k kind, m marks) (least, most time.Duration) {
	var last [gatewayCount]time.Duration
	for _, one := range c.since(m.stopped) {
		if one.kind == k && one.served() && one.began < m.starting {
			last[one.gateway] = max(last[one.gateway], one.began-m.stopped)
		}
	}
	return slices.Min(last[:]), slices.Max(last[:])
}
