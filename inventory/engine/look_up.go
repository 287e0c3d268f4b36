package engine

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// LookUp runs queries on the reading pool, on PostgreSQL in one round trip. Each sees
// everything committed before it ran. If one fails, rows of others may have been passed
// already.
func (e *Engine) LookUp(ctx context.Context, queries ...Lookup) error {
	from := query{ctx: ctx, statements: e.prepared}
	if e.pipeline == nil {
		for _, q := range queries {
			if err := from.Each(q.scanRow, q.Statement, q.Args...); err != nil {
				return err
			}
		}
		return nil
	}
	replies := make([]reply, len(queries))
	err := from.readWithRetry(queries[0].Statement, func(ctx context.Context) (started bool, err error) {
		return false, e.pipeline.send(ctx, queries, replies)
	})
	for i, q := range queries {
		if err == nil {
			err = replies[i].each(q.scanRow)
		}
	}
	return err
}

// pipeline sends several queries at once on a connection of the reading pool, which
// database/sql cannot do. The driver prepares each text once per connection.
type pipeline struct {
	pool  *sql.DB
	texts *texts
	ran   *atomic.Uint64
}

func (p *pipeline) send(ctx context.Context, queries []Lookup, replies []reply) error {
	conn, err := p.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // returns it to the pool
	var batch pgx.Batch
	for _, q := range queries {
		batch.Queue(p.texts.get(q.Statement), arguments(q.Args)...)
	}
	p.ran.Add(uint64(batch.Len()))
	return conn.Raw(func(driver any) error {
		of, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("inventory: the reading pool holds a %T", driver)
		}
		results := of.Conn().SendBatch(ctx, &batch)
		for i := range queries {
			if replies[i], err = readReply(results, true); err != nil {
				break
			}
		}
		if closed := results.Close(); err == nil {
			err = closed
		}
		return err
	})
}
