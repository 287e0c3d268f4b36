package config

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"
)

// Limits of the history.
const (
	maxEntries     = 25 // of accepted entries, and of refused ones
	maxDifferences = 200
	maxFaults      = 20
)

// HistoryEntry is a configuration that was read.
type HistoryEntry struct {
	Number int64 // generation; 0: it was refused
	Time   time.Time
	Why    string // what triggered the reload
	By     string // the admin token's name, if a request triggered it
	// NeedsRestart lists the settings that kept their old values.
	NeedsRestart []string
	// Differences lists the differences from the previous generation. Further is the number of
	// those left out.
	Differences []Difference
	Further     int
	Faults      []string // reasons for the refusal
}

// History records the configurations that a gateway has used since it started, with their
// differences, and those that it refused. It keeps a limited number of each, without secrets. The
// zero value is empty. It is safe for concurrent use.
type History struct {
	mu             sync.Mutex
	taken, refused []HistoryEntry // oldest first
}

// RecordApplied records that the configuration now has taken effect. before is the previous one, or nil at
// the start.
func (h *History) RecordApplied(e HistoryEntry, before, now *Config) {
	if before != nil {
		e.Differences = Differences(before, now)
		if e.Further = max(0, len(e.Differences)-maxDifferences); e.Further > 0 {
			e.Differences = slices.Clone(e.Differences[:maxDifferences])
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = appendBounded(h.taken, e)
}

// RecordRefused records a configuration that was refused.
func (h *History) RecordRefused(e HistoryEntry, why error) {
	if faults, ok := errors.AsType[Faults](why); ok {
		for _, f := range faults[:min(len(faults), maxFaults)] {
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
	if len(all) == maxEntries {
		all = slices.Delete(all, 0, 1)
	}
	return append(all, e)
}

// Current returns the generation in use, or 0 before the first.
func (h *History) Current() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.taken) == 0 {
		return 0
	}
	return h.taken[len(h.taken)-1].Number
}

// Entries returns all recorded entries, newest first.
func (h *History) Entries() []HistoryEntry {
	h.mu.Lock()
	all := slices.Concat(h.taken, h.refused)
	h.mu.Unlock()
	slices.SortStableFunc(all, func(a, b HistoryEntry) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Number, a.Number)) })
	return all
}
