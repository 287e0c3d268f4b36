package harness

import (
	"net"
	"testing"
)

// No other test binary gets a block that one has claimed: while that binary lives,
// something listens on the block's first port, and another claim fails.
func TestPortsAreClaimed(t *testing.T) {
	given := map[string]bool{}
	for range 2*blockSize + 1 { // of three blocks at least
		address := FreeAddress(t)
		if given[address] {
			t.Fatalf("%s was given out twice", address)
		}
		given[address] = true
	}
	portsMu.Lock()
	defer portsMu.Unlock()
	if len(claims) < 3 {
		t.Errorf("%d blocks are claimed", len(claims))
	}
	for _, claim := range claims {
		address := claim.Addr().String()
		if again, err := net.Listen("tcp", address); err == nil {
			_ = again.Close()
			t.Errorf("%s, by which a block is claimed, is free", address)
		}
		if given[address] {
			t.Errorf("%s was given out", address)
		}
	}
}
