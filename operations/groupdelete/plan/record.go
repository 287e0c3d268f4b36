package plan

import "time"

// Record is what is stored of a member, for whoever takes the deletion over.
type Record struct {
	State     State     `json:"state,omitempty"`
	Silent    bool      `json:"silent,omitempty"`
	Due       time.Time `json:"due,omitzero"`
	Since     time.Time `json:"since,omitzero"`
	Tries     int       `json:"tries,omitempty"`
	Why       string    `json:"why,omitempty"`
	Tried     int       `json:"tried,omitempty"`
	Blind     bool      `json:"blind,omitempty"`
	RefusedAt int       `json:"refusedAt,omitempty"`
	Blockers  []string  `json:"blockers,omitempty"`
}

// Record returns the record of a member.
func (m *Member) Record() Record {
	return Record{m.State, m.Unreachable, m.Due, m.Since, m.Tries, m.Why, m.Tried, m.Blind, m.RefusedAt, m.Blockers}
}

// Restore sets a member's fields from its record. Whether a delete is under way is for the
// caller to find out: the record may be old.
func (m *Member) Restore(r Record) {
	m.Unreachable, m.Due, m.Since, m.Tries, m.Why, m.Tried = r.Silent, r.Due, r.Since, r.Tries, r.Why, r.Tried
	m.Blind, m.RefusedAt = r.Blind, r.RefusedAt
	if r.State == Parked {
		m.State, m.Blockers = Parked, r.Blockers
	}
}
