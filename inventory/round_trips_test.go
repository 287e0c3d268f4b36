package inventory

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"portico/inventory/index"
	"portico/test/harness"
)

// trips counts how often clients of a server have begun to send after they were
// sent something: the round trips of their transactions.
type trips struct {
	count atomic.Int64
	wait  sync.WaitGroup
}

// countTrips carries connections to a server, and returns the address for that.
func countTrips(t *testing.T, server string) (address string, counted *trips) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var counting trips
	counting.wait.Go(func() {
		for {
			front, err := listener.Accept()
			if err != nil {
				return
			}
			counting.wait.Go(func() { counting.carry(front, server) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		counting.wait.Wait()
	})
	return listener.Addr().String(), &counting
}

func (c *trips) carry(front net.Conn, server string) {
	defer front.Close()
	back, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer back.Close()
	var answered atomic.Bool
	c.wait.Go(func() {
		_ = carryPieces(front, back, func([]byte) { answered.Store(true) })
		_ = front.Close() // no half is of use without the other
	})
	_ = carryPieces(back, front, func(piece []byte) {
		const terminate = 'X' // the pool of readers closes a connection
		if answered.Swap(false) && piece[0] != terminate {
			c.count.Add(1)
		}
	})
}

func carryPieces(to io.Writer, from io.Reader, note func([]byte)) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return err
		}
		note(buffer[:n])
		if _, err := to.Write(buffer[:n]); err != nil {
			return err
		}
	}
}

// What a transaction costs on a server that is far away: one round trip that
// locks and reads, one that writes, and the commit, however many writes, groups
// and namespaces there are.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	address, counted := countTrips(t, cluster.Address)
	s := openPostgres(t, strings.Replace(cluster.CreateDatabase(t, "portico"), cluster.Address, address, 1), 2)
	groups, names := []string{"rg1", "rg2"}, []string{"a", "b", "c"}
	for _, group := range groups {
		makeGroup(t, s, group)
	}
	for _, namespace := range []string{"n1", "n2"} {
		if _, err := s.Register(t.Context(), RegistrationChange{Subscription: "s", Namespace: namespace, Targets: []NotificationTarget{{Namespace: namespace, Region: "westus"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range groups {
		createdIn(t, s, group, "parent")
	}
	counted.count.Store(0)
	for round := range 3 { // in the first the driver prepares each statement
		var begun, settled int64
		tickets := make([]Ticket, 0, len(groups)*len(names))
		begun = tripsOf(t, s, counted, func(do func(func() error)) {
			var mu sync.Mutex
			for i, group := range groups {
				for _, name := range names {
					do(func() error {
						w := vmWrite(group, "parent")
						w.Parent = w.Key
						w.ID, w.Type = w.ID+"/disks/"+name, w.Type+"/disks"
						w.Key, w.Namespace = w.ID, []string{"n1", "n2"}[i]
						ticket, err := s.Begin(t.Context(), w)
						mu.Lock()
						defer mu.Unlock()
						tickets = append(tickets, ticket)
						return err
					})
				}
			}
		})
		settled = tripsOf(t, s, counted, func(do func(func() error)) {
			for _, ticket := range tickets {
				do(func() error {
					_, err := s.Settle(t.Context(), ticket, Answer{Outcome: index.Succeeded, Status: http.StatusOK})
					return err
				})
			}
		})
		if round > 0 && (begun != 3 || settled != 3) {
			t.Errorf("%d writes began in %d round trips, and ended in %d", len(tickets), begun, settled)
		}
	}
}

// tripsOf returns how many round trips several writes take that share a
// transaction.
func tripsOf(t *testing.T, s *Store, counted *trips, writes func(do func(func() error))) int64 {
	t.Helper()
	release, queued := blocked(t, s)
	var wait sync.WaitGroup
	n := 0
	writes(func(write func() error) {
		n++
		wait.Go(func() {
			if err := write(); err != nil {
				t.Error(err)
			}
		})
	})
	queued(n)
	release()
	wait.Wait()
	const ofBlocker = 2
	return counted.count.Swap(0) - ofBlocker
}
