package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports are taken from below the range from which kernels draw the local
// ports of outgoing connections: a port kept for a process that is being
// restarted is then not taken by some client's connection meanwhile.
//
// They come in blocks, so that test binaries that run at the same time do not
// choose the same ones: whoever listens on the first port of a block has all of
// it, until its process ends.
const (
	firstPort = 20000
	lastPort  = 32000
	blockSize = 100
)

var (
	portsMu sync.Mutex
	// What is left of the block that was claimed last. None is given out twice, as
	// a program may not have bound its port yet, or be down for a restart.
	nextPort, endOfPorts int
	claims               []net.Listener // never closed: the end of the process does it
)

// FreeAddress returns a loopback address with a port on which nothing listens
// and which no other call gets, of this test binary or of another one.
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
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
}

// claimPorts takes a block that nobody has; false where there is none.
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
