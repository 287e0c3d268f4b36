package inventory

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// clock is the store's time where several processes share a store: the server's,
// read by every transaction that writes, and continued from there.
type clock struct {
	// given replaces the server's time.
	given func() time.Time

	mu            sync.Mutex
	server, local time.Time // of one instant; zero before the first reading
}

// set takes what the server said. asked is when it was asked for: if anything
// the clock is then behind, so that a write's time to be sent ends early.
func (c *clock) set(server, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.local = server, asked
}

// read sets the clock outside a transaction.
func (c *clock) read(ctx context.Context, db *sql.DB) error {
	var now int64
	asked := time.Now()
	if err := db.QueryRowContext(ctx, postgresTime).Scan(&now); err != nil {
		return err
	}
	c.set(moment(now), asked)
	return nil
}

func (c *clock) now() time.Time {
	if c.given != nil {
		return c.given()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.Add(c.elapsed())
}

// elapsed is the time since the reading by the faster of two clocks: the
// monotonic one stands still while a machine is suspended.
func (c *clock) elapsed() time.Duration {
	now := time.Now()
	return max(now.Sub(c.local), now.Round(0).Sub(c.local.Round(0)))
}

// stale tells whether the server should be asked again.
func (c *clock) stale(limit time.Duration) bool {
	if c.given != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed() >= limit
}
