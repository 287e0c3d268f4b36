package engine

import (
	"context"
	"errors"
	"time"
)

const (
	// askLimit bounds the wait for the answer on an existing connection. The next
	// question opens a new connection, and so finds out whether the server can still be
	// reached.
	askLimit = 2 * time.Second
	// If a connection could not be made in time, the cause may be that this process got no
	// processor time. A process that wakes from a pause later than this counts as starved.
	wakes = 100 * time.Millisecond
)

// Ask runs a query on a connection that nothing else can take, however many reads and
// writes wait for theirs. The error wraps [ErrUnreachable] only if no connection could be
// made. Callers take turns.
func (e *Engine) Ask(ctx context.Context, row func(Scanner) error, statement string, args ...any) error {
	conn, err := e.reserved.Conn(ctx)
	if err != nil {
		if timedOut(err) && starved() {
			return Unavailable(errStarved)
		}
		return Classify(ctx, err)
	}
	defer conn.Close() // gives it back
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	e.ran.Add(1)
	rows, err := conn.QueryContext(limited, e.dialect.text(statement), arguments(args)...)
	if err != nil {
		return Classify(ctx, err)
	}
	_, err = passOn(rows, row)
	return Classify(ctx, err)
}

var errStarved = errors.New("the processor was too busy to connect to it in time")

func timedOut(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && e.Timeout()
}

// starved reports whether this process gets the processor so late that it is to blame for
// what was not done in time.
func starved() bool {
	const pause = wakes / 10
	for range 3 {
		started := time.Now()
		time.Sleep(pause)
		if time.Since(started) > pause+wakes {
			return true
		}
	}
	return false
}
