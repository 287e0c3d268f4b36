package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports are taken from below the range of the kernel's local ports for outgoing
// connections: no client's connection can take the port of a process during its
// restart.
//
// They come in blocks, so that concurrent test binaries choose different ones: the
// process that listens on the first port of a block owns all of it, until it ends.
const (
	firstPort = 20000
	lastPort  = 32000
	blockSize = 100
)

var (
	portsMu sync.Mutex
	// The rest of the last claimed block. No port is given out twice: a program may not
	// have bound its port yet, or be down for a restart.
	nextPort, endOfPorts int
	claims               []net.Listener // never closed: the end of the process does it
)

// FreeAddress returns a loopback address with a port that nothing listens on and that
// no other call gets, in this test binary or another.
func FreeAddress(t testing.TB) string {
	t.Helper()
	portsMu.Lock()
	defer portsMu.Unlock()
	for {
		if nextPort == endOfPorts && !claimPorts() {
			t.Fatalf("no free ports between %d and %d", firstPort, lastPort)
		}
		address := fmt.Sprintf("127.0.0.1:%d", nextPort)
		nextPort++
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		OK(t, listener.Close())
		return address
	}
}

// claimPorts takes a block that no one has; false if there is none.
func claimPorts() bool {
	const blocks = (lastPort - firstPort) / blockSize
	begin := rand.IntN(blocks)
	for i := range blocks {
		first := firstPort + (begin+i)%blocks*blockSize
		claim, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
		if err != nil {
			continue
		}
		claims = append(claims, claim)
		nextPort, endOfPorts = first+1, first+blockSize
		return true
	}
	return false
}
