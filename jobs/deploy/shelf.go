package deploy

import (
	"sync"
	"time"

	"portico/limits"
)

// Bounds of what is kept of deployments that wait for their providers.
const (
	shelfBytes = 128 << 20 // of all callers
	shelfShare = 32 << 20  // of one
	leastKept  = 64 << 10  // what a deployment counts as at least, so that their number is bounded
	// longestKept is for how long: another replica may have the job by then.
	longestKept = 15 * time.Minute
)

// shelf keeps what was worked out of deployments whose jobs this replica gave back until their
// providers are to be asked again, for its next attempts at them. Other replicas may work on a
// job meanwhile: they add records, which each attempt reads, and change nothing of what is
// kept. It is safe for concurrent use.
type shelf struct {
	memory *limits.Memory
	mu     sync.Mutex
	kept   map[[16]byte]*kept // by jobs
}

type kept struct {
	*worked
	reserved *limits.Reservation
	end      *time.Timer
}

func newShelf() *shelf {
	return &shelf{memory: limits.NewMemory(shelfBytes, shelfShare, nil), kept: map[[16]byte]*kept{}}
}

// reserve returns the room for what was worked out of a caller's deployment; nil: there is none.
func (s *shelf) reserve(caller string, bytes int64) *limits.Reservation {
	bytes = max(bytes, leastKept)
	room := s.memory.Reservation(caller, bytes)
	if !room.TryGrow(bytes) {
		return nil
	}
	return room
}

// put keeps what was worked out for a job.
func (s *shelf) put(job [16]byte, w *worked, room *limits.Reservation) {
	if former := s.take(job); former != nil { // of an attempt that had lost the job
		former.memory.Close()
	}
	k := &kept{worked: w, reserved: room}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[job] = k
	k.end = time.AfterFunc(longestKept, func() {
		if s.remove(job, k) {
			k.memory.Close()
		}
	})
}

// take returns what is kept for a job, and keeps it no longer; nil: there is nothing.
func (s *shelf) take(job [16]byte) *worked {
	s.mu.Lock()
	k := s.kept[job]
	s.mu.Unlock()
	if k == nil || !s.remove(job, k) {
		return nil
	}
	return k.worked
}

func (s *shelf) remove(job [16]byte, k *kept) bool {
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
