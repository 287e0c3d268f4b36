package engine

import (
	"context"
	"errors"
	"time"
)

const (
	// reservedLimit bounds the wait for a result on an existing connection. The next query
	// opens a new connection, which shows whether the server can still be reached.
	reservedLimit = 2 * time.Second
	// A process that wakes from a pause later than this is starved of processor time, which
	// explains a connection that could not be made in time.
	starvedAfter = 100 * time.Millisecond
)

// QueryReserved runs a query on a connection reserved for it, so reads and writes never
// delay it. Concurrent calls wait for each other. The error wraps [ErrUnreachable] only if
// no connection could be made.
func (e *Engine) QueryReserved(ctx context.Context, row func(Scanner) error, statement string, args ...any) error {
	conn, err := e.reserved.Conn(ctx)
	if err != nil {
		if timedOut(err) && starved() {
			return Unavailable(errStarved)
		}
		return Classify(ctx, err)
	}
	defer conn.Close() // returns it to the pool
	limited, cancel := context.WithTimeout(ctx, reservedLimit)
	defer cancel()
	e.ran.Add(1)
	rows, err := conn.QueryContext(limited, e.dialect.translate(statement), arguments(args)...)
	if err != nil {
		return Classify(ctx, err)
	}
	_, err = eachRow(rows, row)
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

// starved reports whether this process gets the processor so late that timeouts are its
// own fault.
func starved() bool {
	const pause = starvedAfter / 10
	for range 3 {
		started := time.Now()
		time.Sleep(pause)
		if time.Since(started) > pause+starvedAfter {
			return true
		}
	}
	return false
}
