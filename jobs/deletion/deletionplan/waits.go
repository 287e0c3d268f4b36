package deletionplan

import "time"

// MostWaits bounds the waits that the status of a deletion shows.
const MostWaits = 20

// Wait is one thing that the deletion of a group waits for.
type Wait struct {
	ID     string `json:"id,omitempty"` // of a resource
	Region string `json:"region,omitempty"`
	Reason string `json:"reason"`
	// Until is when the wait ends at the latest, whatever its outcome.
	Until time.Time `json:"until"`
}

// Waits lists up to MostWaits things that a deletion waits for, which ends by limit. A first
// call without an answer is not listed.
func (p *Queue) Waits(limit time.Time) []Wait {
	var all []Wait
	for _, m := range p.all {
		if len(all) == MostWaits {
			break
		}
		if p.Resources[m.Key] != m {
			continue
		}
		if reason := m.waitsFor(); reason != "" {
			all = append(all, Wait{ID: m.ID, Region: m.Region, Reason: reason, Until: m.until(limit, p.limits.Budget)})
		}
	}
	return all
}

// waitsFor returns why a resource still exists, or "".
func (m *Resource) waitsFor() string {
	switch {
	case m.State == Accepted && m.Orphan:
		return "Whether it exists is not known yet: its provider works on a write of it, or is being asked."
	case m.State == Accepted:
		return "Its provider has accepted the deletion and works on it."
	case m.State == Parked && len(m.Blockers) > 0:
		return "Its provider refused the deletion; it is tried again when what the refusal names has gone."
	case (m.State == Parked || m.refused) && m.Busy != "": // also while it is tried once more
		return waitForWrite(m.Busy)
	case m.State == Parked:
		return "Its provider refused the deletion; it is tried again when another resource has gone."
	case m.Tries > 0 && m.Unreachable:
		return m.Why + " The deletion is tried again until the region answers."
	case m.Tries > 0 && m.Why != "":
		return m.Why + " The deletion is tried again."
	case m.Tries > 0:
		return "The deletion could not be sent; it is tried again."
	}
	return ""
}

// waitForWrite returns the reason of a refused resource that waits for the end of its own write.
func waitForWrite(busy string) string {
	return "Its provider refused the deletion, and a " + busy + " of it may be under way; it is tried again when that has ended."
}

// until returns when the wait for a resource ends at the latest: with its budget for
// transient failures, or with the deletion.
func (m *Resource) until(limit time.Time, budget time.Duration) time.Time {
	if spent := m.Since.Add(budget); !m.Since.IsZero() && m.State != Parked && spent.Before(limit) {
		return spent
	}
	return limit
}
