package engine

import "context"

const (
	// uncounted are the tables of more than a few rows that the server has never counted, or
	// counted while they were empty.
	uncounted = `SELECT quote_ident(relname) FROM pg_class
		WHERE relnamespace = to_regnamespace(current_schema()) AND relkind = 'r' AND reltuples <= 0 AND pg_relation_size(oid) >= 32768`
	// count lets another process that counts a table have it.
	count = `ANALYZE (SKIP_LOCKED) `

	// firstCount is after how many writes of this process it looks for uncounted tables again;
	// then after twice as many each time.
	firstCount = 100
)

// CountRows makes PostgreSQL count the rows of tables that it has never counted, where there
// may be some by now: at first, and as the process writes more. PostgreSQL plans a prepared
// statement once, and where it knows nothing of a table it takes any index for as good as the
// primary key: each look-up by that reads a whole partition. By itself it counts a table
// up to a minute after that has been filled, and a restored one not before it changes. What
// fails is left to that.
func (e *Engine) CountRows(ctx context.Context) error {
	writes := e.writer.stats().Writes
	if e.options.Driver != Postgres || writes < e.countAfter.Load() {
		return nil
	}
	e.countAfter.Store(max(firstCount, 2*writes))
	tables, err := Collect(e.Read(ctx), ScanOne[string], uncounted)
	for _, table := range tables {
		if err == nil {
			e.ran.Add(1)
			_, err = e.reads.ExecContext(ctx, count+table)
		}
	}
	return Classify(ctx, err)
}
