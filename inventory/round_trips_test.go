package inventory

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// talk counts how often a connection has begun to send after it had received:
// the round trips of its transactions.
type talk struct {
	net.Conn
	received atomic.Bool
	count    *atomic.Int64
}

func (c *talk) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Store(true)
	return n, err
}

func (c *talk) Write(p []byte) (int, error) {
	if c.received.Swap(false) {
		c.count.Add(1)
	}
	return c.Conn.Write(p)
}

// countTrips counts the round trips of the connections that write.
func countTrips(s *Store) *atomic.Int64 {
	var count atomic.Int64
	for _, session := range s.sessions {
		session := session.(*postgresSession)
		session.discard()
		dial := session.config.DialFunc
		session.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &talk{Conn: conn, count: &count}, nil
		}
	}
	return &count
}

// What a transaction costs on a server that is far away: one round trip that
// locks and reads, one that writes, and the commit, however many writes, groups
// and namespaces there are.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := openPostgres(t, harness.StartPostgres(t).CreateDatabase(t, "portico"), 2)
	groups, names := []string{"rg1", "rg2"}, []string{"a", "b", "c"}
	for _, group := range groups {
		makeGroup(t, s, group)
	}
	for _, namespace := range []string{"n1", "n2"} {
		if _, err := s.Register(t.Context(), RegistrationChange{Subscription: "s", Namespace: namespace, Tell: []Addressee{{Namespace: namespace, Region: "westus"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range groups {
		createdIn(t, s, group, "parent")
	}
	count := countTrips(s)
	for round := range 3 { // in the first the driver prepares each statement
		var begun, settled int64
		tickets := make([]Ticket, 0, len(groups)*len(names))
		begun = tripsOf(t, s, count, func(do func(func() error)) {
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
		settled = tripsOf(t, s, count, func(do func(func() error)) {
			for _, ticket := range tickets {
				do(func() error {
					_, err := s.Settle(t.Context(), ticket, Answer{Outcome: Succeeded, Status: http.StatusOK})
					return err
				})
			}
		})
		if round > 0 && (begun != 3 || settled != 3) {
			t.Errorf("%d writes began in %d round trips, and ended in %d", len(tickets), begun, settled)
		}
	}
}

// tripsOf retalk how many round trips several writes take that share a
// transaction.
func tripsOf(t *testing.T, s *Store, count *atomic.Int64, writes func(do func(func() error))) int64 {
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
	return count.Swap(0) - ofBlocker
}
