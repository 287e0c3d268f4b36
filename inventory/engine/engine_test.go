package engine

import "testing"

func TestDialectText(t *testing.T) {
	const statement = `SELECT a FROM t WHERE b = ? AND c = ?` + ForUpdate
	if got := (dialect{}).translate(statement); got != `SELECT a FROM t WHERE b = ? AND c = ?` {
		t.Error(got)
	}
	if got := (dialect{numbered: true, locksRows: true}).translate(statement); got != `SELECT a FROM t WHERE b = $1 AND c = $2 FOR UPDATE` {
		t.Error(got)
	}
}

func TestConnectionsAreShared(t *testing.T) {
	for bound, want := range map[int][2]int{2: {1, 1}, 3: {1, 1}, 5: {1, 3}, 0: {4, 11}, 40: {10, 29}} {
		o := Options{Connections: bound}
		if writers, readers := o.connectionCounts(); [2]int{writers, readers} != want {
			t.Errorf("%d connections: %d write, %d read; want %v", bound, writers, readers, want)
		}
	}
}

func TestErrorsNameTheStatement(t *testing.T) {
	for statement, want := range map[string]string{
		"SELECT key FROM resources WHERE key = ?":                               "SELECT of resources",
		"SELECT 1 / COUNT(*) FROM (SELECT key FROM resources LIMIT 1) AS found": "SELECT of resources",
		"INSERT INTO jobs (id) VALUES (?)":                                      "INSERT of jobs",
		"UPDATE locks\n\tSET level = ?":                                         "UPDATE of locks",
		"DELETE FROM fences WHERE key = ?":                                      "DELETE of fences",
		"COMMIT":                                                                "COMMIT",
	} {
		if got := describeStatement(statement); got != want {
			t.Errorf("%q is named %q, want %q", statement, got, want)
		}
	}
}
