package engine

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"portico/internal/timing"
)

// clock is the store's time if several processes share a store: the server's, read by
// every writing transaction, and continued from there.
type clock struct {
	// given replaces the server's time.
	given func() time.Time

	mu            sync.Mutex
	server, local time.Time // of one instant; zero before the first reading
}

// The clocks of two replicas differ by at most clockError if the server answers within
// that time. A slower reading is repeated, a few times.
const (
	clockError = time.Second
	clockTries = 3
)

// ask sets the clock by the server's.
func (c *clock) ask(server func(*int64) error) error {
	for try := 1; ; try++ {
		var now int64
		sent := time.Now()
		if err := server(&now); err != nil {
			return err
		}
		c.set(Moment(now), sent)
		if try == clockTries || time.Since(sent) <= clockError {
			return nil
		}
	}
}

// set sets the clock by the server's answer. asked is when the question was sent: the
// clock may be ahead by the time of the answer, but is not behind, so that no intent
// ends too early.
func (c *clock) set(server, local time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.local = server, local
}

// read sets the clock outside a transaction.
func (c *clock) read(ctx context.Context, db *sql.DB) error {
	return c.ask(func(now *int64) error { return db.QueryRowContext(ctx, postgresTime).Scan(now) })
}

// slack is by how much two replicas may differ about the time of an event.
func (c *clock) slack() time.Duration {
	if c == nil || c.given != nil {
		return 0 // there is one clock
	}
	return clockError
}

func (c *clock) now() time.Time {
	if c.given != nil {
		return c.given()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.Add(timing.Elapsed(c.local, time.Now()))
}

// stale reports whether the clock is due for a reading.
func (c *clock) stale(limit time.Duration) bool {
	if c.given != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return timing.Elapsed(c.local, time.Now()) >= limit
}
