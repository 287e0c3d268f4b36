package engine

import "context"

const (
	// uncountedTables selects the tables of more than a few rows that the server has never
	// analyzed, or analyzed while they were empty.
	uncountedTables = `SELECT quote_ident(relname) FROM pg_class
		WHERE relnamespace = to_regnamespace(current_schema()) AND relkind = 'r' AND reltuples <= 0 AND pg_relation_size(oid) >= 32768`
	// analyzeTable skips a table that another process is analyzing.
	analyzeTable = `ANALYZE (SKIP_LOCKED) `

	// firstCount is the number of this process's writes after which it looks for uncounted
	// tables a second time. The number doubles each time.
	firstCount = 100
)

// CountRows makes PostgreSQL count the rows of tables that it has never analyzed. It does so
// at the first call, and then as this process writes more. PostgreSQL plans a prepared
// statement once; without statistics it may prefer another index to the primary key, and
// each look-up would read a whole partition. Autovacuum analyzes a table up to a minute after
// it was filled, and a restored table only after it changes. It also makes up for a failure
// here.
func (e *Engine) CountRows(ctx context.Context) error {
	writes := e.writer.stats().Writes
	if e.options.Driver != Postgres || writes < e.countAfter.Load() {
		return nil
	}
	e.countAfter.Store(max(firstCount, 2*writes))
	tables, err := Collect(e.Read(ctx), ScanOne[string], uncountedTables)
	for _, table := range tables {
		if err == nil {
			e.ran.Add(1)
			_, err = e.reads.ExecContext(ctx, analyzeTable+table)
		}
	}
	return Classify(ctx, err)
}
