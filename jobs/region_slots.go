package jobs

import (
	"maps"
	"sync"
)

const (
	// slots is the number of jobs of a kind that one replica works on at a time in each
	// region, and of jobs without a region. Each kind and region has its own slots, so
	// that none starves another.
	slots = 16
	// fullRegions is the number of regions whose slots may all be taken before each
	// further region gets a single slot.
	fullRegions = 4
)

// regionSlots counts the attempts of one kind that are under way, by region. One
// goroutine takes slots; any may release them.
type regionSlots struct {
	each  int
	freed chan struct{} // receives after slots were released

	mu      sync.Mutex
	running map[string]int
	total   int
}

func newRegionSlots(each int) *regionSlots {
	return &regionSlots{each: each, freed: make(chan struct{}, 1), running: map[string]int{}}
}

// roomCheck returns a function that reports whether one more job of a region finds a
// slot, and counts that job.
func (s *regionSlots) roomCheck() func(region string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	running, total := maps.Clone(s.running), s.total
	return func(region string) bool {
		most := s.each
		if total >= fullRegions*s.each {
			most = 1
		}
		if running[region] >= most {
			return false
		}
		running[region]++
		total++
		return true
	}
}

func (s *regionSlots) occupy(region string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[region]++
	s.total++
}

func (s *regionSlots) release(region string) {
	s.mu.Lock()
	s.total--
	if s.running[region]--; s.running[region] == 0 {
		delete(s.running, region)
	}
	s.mu.Unlock()
	select {
	case s.freed <- struct{}{}:
	default: // the receiver knows already that there is room
	}
}
