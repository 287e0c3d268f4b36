package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	backend = "SELECT pg_backend_pid()"
	// poolTries is how often a pooler is checked: between two statements it may serve
	// another client.
	poolTries = 5
)

// errPooled refuses a pooler whose connections lose their settings and prepared
// statements.
var errPooled = errors.New("the DSN names a pooler that lends a connection to the server for a transaction at a time, " +
	"as PgBouncer does with pool_mode = transaction, " +
	"but a gateway keeps its connections, with what it has set and prepared on them: " +
	"name the server itself, or a pool with pool_mode = session and a pool_size for all connections of all gateways")

// checkSessions refuses a pooler that does not give each connection a server connection
// of its own for as long as it lasts. It compares the process that the server reported
// at the connection's start with the process that runs a statement. It uses only the
// simple protocol, which every pooler passes on.
func checkSessions(ctx context.Context, reads, reserved *sql.DB) error {
	one, err := reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer one.Close() // returns it to the pool
	own, served, err := backendOf(ctx, one, backend)
	if err != nil || own == served {
		return err
	}
	other, err := reserved.Conn(ctx)
	if err != nil {
		return err
	}
	defer other.Close()
	for range poolTries {
		// During a transaction a pooler's client keeps its server connection.
		_, lent, err := backendOf(ctx, other, "BEGIN; "+backend)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "08P01" {
			return errPooled // it lends a connection only for one statement
		}
		if err != nil {
			return err
		}
		if lent == served {
			return errPooled
		}
		_, now, err := backendOf(ctx, one, backend)
		if err != nil {
			return err
		}
		if now != served {
			return errPooled
		}
		if _, _, err := backendOf(ctx, other, "ROLLBACK; "+backend); err != nil {
			return err
		}
	}
	return nil
}

// backendOf runs statements; the last one must be backend. It returns the process id that
// the server reported at the connection's start, and the id of the process that ran the
// statements.
func backendOf(ctx context.Context, conn *sql.Conn, statements string) (reported, served string, err error) {
	err = conn.Raw(func(driver any) error {
		of, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the pool holds a %T", driver)
		}
		results, err := of.Conn().PgConn().Exec(ctx, statements).ReadAll()
		if err != nil {
			return err
		}
		reported, served = fmt.Sprint(of.Conn().PgConn().PID()), string(results[len(results)-1].Rows[0][0])
		return nil
	})
	return reported, served, err
}
