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
const (
	firstPort = 20000
	lastPort  = 32000
)

var (
	portsMu sync.Mutex
	// ports that this test binary has given out; none is given out twice, as
	// a program may not have bound its port yet, or be down for a restart.
	portsGiven = map[int]bool{}
)

// FreeAddress returns a loopback address with a port on which nothing listens
// and which no other call of this test binary gets.
func FreeAddress(t testing.TB) string {
	t.Helper()
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if portsGiven[port] {
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		portsGiven[port] = true
		return address
	}
	t.Fatalf("no free port between %d and %d", firstPort, lastPort)
	return ""
}
