package engine

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// LookUp asks queries of the reading pool: on PostgreSQL in one round trip. Each sees
// what was committed when it was run. A failure of one may follow rows of others.
func (e *Engine) LookUp(ctx context.Context, queries ...Lookup) error {
	from := query{ctx: ctx, statements: e.prepared}
	if e.pipeline == nil {
		for _, q := range queries {
			if err := from.Each(q.take, q.Statement, q.Args...); err != nil {
				return err
			}
		}
		return nil
	}
	replies := make([]reply, len(queries))
	err := from.again(queries[0].Statement, func(ctx context.Context) (started bool, err error) {
		return false, e.pipeline.ask(ctx, queries, replies)
	})
	for i, q := range queries {
		if err == nil {
			err = replies[i].each(q.take)
		}
	}
	return err
}

// pipeline sends several queries at once on a connection of the reading pool, whose
// interface knows only one at a time. The driver prepares each text once per connection.
type pipeline struct {
	pool  *sql.DB
	texts *texts
	ran   *atomic.Uint64
}

func (p *pipeline) ask(ctx context.Context, queries []Lookup, replies []reply) error {
	conn, err := p.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // gives it back
	var batch pgx.Batch
	for _, q := range queries {
		batch.Queue(p.texts.of(q.Statement), arguments(q.Args)...)
	}
	p.ran.Add(uint64(batch.Len()))
	return conn.Raw(func(driver any) error {
		of, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("inventory: the reading pool holds a %T", driver)
		}
		results := of.Conn().SendBatch(ctx, &batch)
		for i := range queries {
			if replies[i], err = read(results, true); err != nil {
				break
			}
		}
		if closed := results.Close(); err == nil {
			err = closed
		}
		return err
	})
}
