package deletionplan

import "time"

// Record is the stored form of a resource, for a replica that takes the deletion over.
type Record struct {
	State     State     `json:"state,omitempty"`
	Orphan    bool      `json:"orphan,omitempty"`
	Silent    bool      `json:"silent,omitempty"`
	Due       time.Time `json:"due,omitzero"`
	Since     time.Time `json:"since,omitzero"`
	Tries     int       `json:"tries,omitempty"`
	Why       string    `json:"why,omitempty"`
	Tried     int       `json:"tried,omitempty"`
	Blind     bool      `json:"blind,omitempty"`
	RefusedAt int       `json:"refusedAt,omitempty"`
	Blockers  []string  `json:"blockers,omitempty"`
	Busy      string    `json:"busy,omitempty"`
	Again     bool      `json:"again,omitempty"`
	Failing   time.Time `json:"failing,omitzero"`
}

// WaitsFor returns a sentence if a refused resource waits for the end of its own write, else "".
func (r Record) WaitsFor() string {
	if r.State != Parked || len(r.Blockers) > 0 || r.Busy == "" {
		return ""
	}
	return waitForWrite(r.Busy)
}

// Record returns the record of a resource.
func (m *Resource) Record() Record {
	return Record{m.State, m.Orphan, m.Unreachable, m.Due, m.Since, m.Tries, m.Why, m.Tried, m.Blind, m.RefusedAt, m.Blockers, m.Busy, m.Again, m.Failing}
}

// Restore sets a resource's fields from its record. The record may be old:
// [Queue.Observe] finds out whether an accepted deletion goes on.
func (m *Resource) Restore(r Record) {
	m.Unreachable, m.Due, m.Since, m.Tries, m.Why, m.Tried = r.Silent, r.Due, r.Since, r.Tries, r.Why, r.Tried
	m.Blind, m.RefusedAt, m.Busy, m.Again, m.Failing = r.Blind, r.RefusedAt, r.Busy, r.Again, r.Failing
	switch r.State {
	case Parked:
		m.State, m.Blockers = Parked, r.Blockers
	case Accepted:
		m.State, m.Orphan = Accepted, r.Orphan
	case Waiting, InFlight: // its call has ended with its attempt
	}
}
