package config

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"
)

// Bounds of what is remembered.
const (
	mostEntries     = 25 // of those that were taken, and of those that were refused
	mostDifferences = 200
	mostFaults      = 20
)

// HistoryEntry is a configuration that was read.
type HistoryEntry struct {
	Number int64 // of the generation; 0: it was refused
	Time   time.Time
	Why    string // what triggered reading it
	By     string // the name of the admin token that did, if one did
	// NeedsRestart are the settings that stayed as they were.
	NeedsRestart []string
	// Differences are those from the generation before; Further more are left out.
	Differences []Difference
	Further     int
	Faults      []string // why it was refused
}

// History remembers which configurations a gateway has had since it started, what changed
// from one to the next, and which were refused: a bounded number of each, without secrets. The zero value is empty. It is safe for concurrent use.
type History struct {
	mu             sync.Mutex
	taken, refused []HistoryEntry // the oldest first
}

// Taken records a configuration that is in use from now on; before is the one that was
// in use until now, nil at the start.
func (h *History) Taken(e HistoryEntry, before, now *Config) {
	if before != nil {
		e.Differences = Differences(before, now)
		if e.Further = max(0, len(e.Differences)-mostDifferences); e.Further > 0 {
			e.Differences = slices.Clone(e.Differences[:mostDifferences])
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = appendBounded(h.taken, e)
}

// Refused remembers a configuration that was not taken.
func (h *History) Refused(e HistoryEntry, why error) {
	if faults, ok := errors.AsType[Faults](why); ok {
		for _, f := range faults[:min(len(faults), mostFaults)] {
			e.Faults = append(e.Faults, f.Error())
		}
		e.Further = len(faults) - len(e.Faults)
	} else {
		e.Faults = []string{"It could not be put to use; the log says why."}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = appendBounded(h.refused, e)
}

func appendBounded(all []HistoryEntry, e HistoryEntry) []HistoryEntry {
	if len(all) == mostEntries {
		all = slices.Delete(all, 0, 1)
	}
	return append(all, e)
}

// Current is the number of the generation in use; 0: none was taken.
func (h *History) Current() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.taken) == 0 {
		return 0
	}
	return h.taken[len(h.taken)-1].Number
}

// Entries are all that are remembered, the newest first.
func (h *History) Entries() []HistoryEntry {
	h.mu.Lock()
	all := slices.Concat(h.taken, h.refused)
	h.mu.Unlock()
	slices.SortStableFunc(all, func(a, b HistoryEntry) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Number, a.Number)) })
	return all
}
