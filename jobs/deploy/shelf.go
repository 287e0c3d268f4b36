package deploy

import (
	"sync"
	"time"

	"portico/limits"
)

// Bounds of the expansions that are kept for deployments that wait for their providers.
const (
	shelfBytes = 128 << 20 // of all callers
	shelfShare = 32 << 20  // of one
	leastKept  = 64 << 10  // the least that a deployment counts, so that their number is bounded
	// longestKept is the time after which one is dropped: another replica may have the job by then.
	longestKept = 15 * time.Minute
)

// shelf keeps the expansions of deployments whose jobs this replica gave back until their
// providers are to be polled again, for its next attempts. Other replicas may work on a job
// meanwhile: they only add records, which each attempt reads, so an expansion stays valid. It is
// safe for concurrent use.
type shelf struct {
	memory *limits.Memory
	mu     sync.Mutex
	kept   map[[16]byte]*keptExpansion // by jobs
}

type keptExpansion struct {
	*expansion
	reserved *limits.Reservation
	end      *time.Timer
}

func newShelf() *shelf {
	return &shelf{memory: limits.NewMemory(shelfBytes, shelfShare, nil), kept: map[[16]byte]*keptExpansion{}}
}

// reserve returns the reservation for the expansion of a caller's deployment, nil if there is no
// room.
func (s *shelf) reserve(caller string, bytes int64) *limits.Reservation {
	bytes = max(bytes, leastKept)
	room := s.memory.Reservation(caller, bytes)
	if !room.TryGrow(bytes) {
		return nil
	}
	return room
}

// put keeps the expansion of a job's deployment.
func (s *shelf) put(job [16]byte, w *expansion, room *limits.Reservation) {
	if former := s.remove(job); former != nil { // of an attempt that had lost the job
		former.memory.Close()
	}
	k := &keptExpansion{expansion: w, reserved: room}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[job] = k
	k.end = time.AfterFunc(longestKept, func() {
		if s.drop(job, k) {
			k.memory.Close()
		}
	})
}

// remove returns the expansion that is kept for a job, nil if there is none, and keeps it no
// longer.
func (s *shelf) remove(job [16]byte) *expansion {
	s.mu.Lock()
	k := s.kept[job]
	s.mu.Unlock()
	if k == nil || !s.drop(job, k) {
		return nil
	}
	return k.expansion
}

func (s *shelf) drop(job [16]byte, k *keptExpansion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[job] != k {
		return false
	}
	k.end.Stop()
	delete(s.kept, job)
	k.reserved.Close()
	return true
}
