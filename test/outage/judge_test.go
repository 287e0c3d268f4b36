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
		for _, made := range c.since(m.begun) {
			if made.began > m.ended {
				continue
			}
			if fault := c.faultOf(made, m); fault != "" {
				if faults[fault]++; faults[fault] <= 3 {
					t.Errorf("%s: %+v, in a round of %+v", fault, made, m)
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
func (c *callers) faultOf(made call, m marks) string {
	away := made.began >= m.stopped && made.ended <= m.starting
	switch {
	case made.status == 0:
		return "no answer"
	case made.kind == healthy:
		return unless(made.status == http.StatusOK, "a gateway without a store counts as broken")
	case made.kind == ready:
		switch {
		case away:
			return unless(made.status == http.StatusServiceUnavailable, "a gateway without a store is ready")
		case made.ended < m.stopping || made.began >= m.ready:
			return unless(made.status == http.StatusOK || made.tooSlow(), "a gateway with a store is not ready")
		}
		return ""
	case slices.Contains(denied, made.kind):
		return c.admissionFault(made, m)
	case made.kind == poll && made.code == notRecorded: // see judgeUnpolled
		return ""
	case !made.served() && !made.refused():
		return "neither served nor refused by 503 ServerTimeout with Retry-After"
	case made.refused() && (made.ended < m.stopping || made.began >= m.ready) && !made.tooSlow():
		return "refused while the store is there"
	case made.served() && away && !slices.Contains(reads, made.kind):
		return "served without the store"
	case made.served() && made.began >= m.expired && made.ended <= m.starting:
		return "served without the store, from memory that has expired"
	}
	return ""
}

// admissionFault says what is wrong with the answer to a caller without a role.
func (c *callers) admissionFault(made call, m marks) string {
	if made.served() {
		had := made.kind == revoked && made.began < c.withoutRole
		if made.kind == revokedLast && made.ended >= m.assigned {
			had = made.began <= m.revoked || made.gateway != 0 && made.began <= m.expired
		}
		return unless(had, "let in without a role")
	}
	if made.status == http.StatusNotFound && made.code != "" {
		return unless(made.ended < m.stopping || made.began < m.stopped || made.ended >= m.starting, "denied without the store")
	}
	return unless(made.refused() && (made.ended >= m.stopping && made.began < m.ready || made.tooSlow()), "neither denied nor refused")
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
		return slices.ContainsFunc(changes, func(made change) bool { return accepted > made.begun-unrecorded && accepted < made.end })
	})
	for _, made := range c.since(0) {
		switch {
		case made.kind == ready:
		case slices.Contains(denied, made.kind):
			if made.served() {
				t.Errorf("let in without a role: %+v", made)
			}
		case made.kind == poll && made.code == notRecorded: // see judgeUnpolled
		case !made.served() && !made.refused():
			t.Errorf("neither served nor refused by 503 ServerTimeout with Retry-After: %+v", made)
		}
	}
}

// lastServed returns for how long after the store had gone calls of a kind were served, at
// the gateway that did so longest and at the one that did so least.
func (c *callers) lastServed(k kind, m marks) (least, most time.Duration) {
	var last [gatewayCount]time.Duration
	for _, made := range c.since(m.stopped) {
		if made.kind == k && made.served() && made.began < m.starting {
			last[made.gateway] = max(last[made.gateway], made.began-m.stopped)
		}
	}
	return slices.Min(last[:]), slices.Max(last[:])
}
