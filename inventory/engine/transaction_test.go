package engine

import (
	"slices"
	"strings"
	"testing"
)

// noted is a connection that notes what is to be run later.
type noted struct {
	Conn
	requests []Request
}

func (n *noted) Later(r Request) error {
	n.requests = append(n.requests, r)
	return nil
}

// Rows that are created together come in their order, and each statement has to create all
// of its own.
func TestRowsAreCreatedByFewStatements(t *testing.T) {
	const insert = `INSERT INTO events (subscription, number) VALUES (?, ?) ON CONFLICT (subscription, number) DO NOTHING`
	var rows [][]any
	for i := range 64 + 8 + 1 {
		rows = append(rows, []any{"s", i})
	}
	conn := &noted{}
	if err := NewTx(conn).CreateRows(insert, rows); err != nil {
		t.Fatal(err)
	}
	var args []any
	var sizes []int64
	for _, r := range conn.requests {
		if n := strings.Count(r.Statement, "(?, ?)"); int64(n) != r.rows || len(r.Args) != 2*n {
			t.Errorf("%d rows and %d arguments in %s", n, len(r.Args), r.Statement)
		}
		if r.checkAffected(r.rows) != nil || r.checkAffected(r.rows-1) == nil {
			t.Errorf("%d rows may be created by %s", r.rows-1, r.Statement)
		}
		sizes, args = append(sizes, r.rows), append(args, r.Args...)
	}
	if !slices.Equal(sizes, []int64{64, 8, 1}) || !slices.Equal(args, slices.Concat(rows...)) {
		t.Errorf("statements of %d rows with the arguments %v", sizes, args)
	}
	if last := conn.requests[len(conn.requests)-1].Statement; last != insert {
		t.Errorf("one row is created by %s", last)
	}
}
