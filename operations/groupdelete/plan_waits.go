package groupdelete

import (
	"slices"
	"time"
)

// mostWaits bounds how much the status shows of what a deletion waits for.
const mostWaits = 20

// Wait is one thing that the deletion of a group waits for.
type Wait struct {
	ID     string `json:"id,omitempty"` // of a resource
	Region string `json:"region,omitempty"`
	Reason string `json:"reason"`
	// Until is when that ends at the latest, whatever comes of it.
	Until time.Time `json:"until"`
}

// waits lists what a deletion waits for that is over by limit, up to mostWaits. A first
// call without an answer yet is no wait.
func (p *plan) waits(limit time.Time) []Wait {
	var all []Wait
	for _, m := range p.all {
		if len(all) == mostWaits {
			break
		}
		if p.members[m.key] != m {
			continue
		}
		if reason := m.waitsFor(); reason != "" {
			all = append(all, Wait{ID: m.key, Region: m.region, Reason: reason, Until: m.until(limit, p.limits.budget)})
		}
	}
	return all
}

// waitsFor says why a member is still there, or nothing.
func (m *member) waitsFor() string {
	switch {
	case m.state == memberAccepted && m.orphan:
		return "Whether it exists is not known yet; its provider is being asked."
	case m.state == memberAccepted:
		return "Its provider has accepted the deletion and works on it."
	case m.state == memberParked && len(m.blockers) > 0:
		return "Its provider refused the deletion; it is tried again when what the refusal names has gone."
	case m.state == memberParked:
		return "Its provider refused the deletion; it is tried again when another resource has gone."
	case m.tries > 0 && m.unreachable:
		return m.why + " The deletion is tried again until the region answers."
	case m.tries > 0 && m.why != "":
		return m.why + " The deletion is tried again."
	case m.tries > 0:
		return "The deletion could not be sent; it is tried again."
	}
	return ""
}

// until is when the wait for a member ends at the latest: with its budget for passing
// failures, or with the deletion.
func (m *member) until(limit time.Time, budget time.Duration) time.Time {
	if spent := m.since.Add(budget); !m.since.IsZero() && m.state != memberParked && spent.Before(limit) {
		return spent
	}
	return limit
}

// limit is when the deletion as a whole ends.
func (w *attempt) limit() time.Time { return w.claim.Job.Created.Add(w.Limit) }

// waiting lists what the deletion waits for.
func (w *attempt) waiting() []Wait {
	all := append(w.plan.waits(w.limit()), w.open...)
	for i := range all {
		if stray, is := w.strays[all[i].ID]; is {
			all[i].ID = stray.ID
		}
	}
	return all
}

// setWaits puts what the deletion waits for into its status, and reports whether that
// has changed.
func (w *attempt) setWaits(now []Wait) (changed bool) {
	if slices.Equal(now, w.payload.Waits) {
		return false
	}
	w.payload.Waits = now
	return true
}
