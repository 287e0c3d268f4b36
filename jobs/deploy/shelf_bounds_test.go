package deploy

import (
	"testing"

	"portico/limits"
)

// A caller's deployments take its share of the shelf at most, in bytes and so in number, and give
// it back when they are taken, or replaced.
func TestShelfIsBounded(t *testing.T) {
	t.Parallel()
	s, memory := newShelf(), limits.NewMemory(1<<20, 1<<20, nil)
	kept := 0
	for ; ; kept++ {
		room := s.reserve("alice", 1)
		if room == nil {
			break
		}
		s.put([16]byte{byte(kept), byte(kept >> 8)}, &expansion{memory: memory.Reservation("alice", 1)}, room)
	}
	if most := shelfShare/leastKept + 1; kept == 0 || kept > most {
		t.Errorf("%d deployments of one caller are kept, of at most %d", kept, most)
	}
	if s.reserve("alice", shelfShare+1) != nil {
		t.Error("more than a share is kept")
	}
	others := s.reserve("bob", leastKept)
	if others == nil {
		t.Fatal("one caller leaves no room for others")
	}
	others.Close()
	room := s.memory.Reservation("bob", 0)
	for i := range kept {
		job := [16]byte{byte(i), byte(i >> 8)}
		if i%2 == 0 {
			s.put(job, &expansion{memory: memory.Reservation("alice", 1)}, room)
		}
		if s.remove(job) == nil || s.remove(job) != nil {
			t.Fatalf("%d is not taken once", i)
		}
	}
	if free := s.memory.Free(); free != shelfBytes {
		t.Errorf("%d bytes are not given back", shelfBytes-free)
	}
}
