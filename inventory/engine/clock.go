package engine

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"portico/internal/timing"
)

// clock follows the server's time, which all processes that share a store use. Writing
// transactions read it; between readings the local clock continues it.
type clock struct {
	// override replaces the server's time; nil: none.
	override func() time.Time

	mu            sync.Mutex
	server, local time.Time // the same moment by both clocks; zero before the first reading
}

// The clocks of two replicas differ by at most clockError if the server answers within
// that time. A slower reading is repeated, a few times.
const (
	clockError = time.Second
	clockTries = 3
)

// syncWith sets the clock to the server's time, which server reads.
func (c *clock) syncWith(server func(*int64) error) error {
	for try := 1; ; try++ {
		var now int64
		sent := time.Now()
		if err := server(&now); err != nil {
			return err
		}
		c.set(TimeOf(now), sent)
		if try == clockTries || time.Since(sent) <= clockError {
			return nil
		}
	}
}

// set sets the clock to the server's time. local is when the query was sent: the clock
// may then be ahead by the duration of the query, but is never behind, so no intent ends
// too early.
func (c *clock) set(server, local time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.local = server, local
}

// sync sets the clock to the server's time, outside a transaction.
func (c *clock) sync(ctx context.Context, db *sql.DB) error {
	return c.syncWith(func(now *int64) error { return db.QueryRowContext(ctx, postgresTime).Scan(now) })
}

// slack returns the largest difference between the clocks of two replicas.
func (c *clock) slack() time.Duration {
	if c == nil || c.override != nil {
		return 0 // there is one clock
	}
	return clockError
}

func (c *clock) now() time.Time {
	if c.override != nil {
		return c.override()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.Add(timing.Elapsed(c.local, time.Now()))
}

// stale reports whether the clock is due for a reading.
func (c *clock) stale(limit time.Duration) bool {
	if c.override != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return timing.Elapsed(c.local, time.Now()) >= limit
}
