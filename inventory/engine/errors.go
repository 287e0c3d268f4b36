package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrUnavailable is wrapped by every error of a database that cannot serve now. The
	// outcome of a write with this error is unknown.
	ErrUnavailable = errors.New("inventory: the store is unavailable")

	// ErrUnreachable is also wrapped by such an error if no server accepts a connection,
	// or the file cannot be read. A slow or busy server is reachable.
	ErrUnreachable = errors.New("it cannot be reached")

	// ErrNotFound means that the record does not exist.
	ErrNotFound = errors.New("inventory: not found")

	// ErrClosed means that the engine is closed.
	ErrClosed = errors.New("it is closed")

	// ErrOvertaken ends a transaction if another one has changed a row that it expects, or
	// created a row that it read as absent. The transaction is repeated.
	ErrOvertaken = errors.New("inventory: another transaction was faster")

	// ErrRunSeparately ends a transaction that must be repeated with each member in a
	// savepoint, to find out which of them is refused.
	ErrRunSeparately = errors.New("inventory: the batch has to run singly")
)

// UnsureError is the error of a commit that may nevertheless have taken effect.
type UnsureError struct{ error }

func (e UnsureError) Unwrap() error { return e.error }

func isUnsure(err error) bool {
	var e UnsureError
	return errors.As(err, &e)
}

// OrNotFound returns ErrNotFound for sql.ErrNoRows, and any other error unchanged.
func OrNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// Unavailable wraps err in ErrUnavailable.
func Unavailable(err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Classify wraps err in ErrUnavailable if the store is down, returns the context's error if
// the caller gave up, and marks any other error as Portico's own fault. If a deadline passes
// while the store works on the call, the error wraps both.
func Classify(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) || errors.Is(err, ErrUnavailable) {
		return err
	}
	if cause := ctx.Err(); cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			return Unavailable(cause)
		}
		return cause
	}
	if unreachable(err) {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if databaseDown(err) {
		return Unavailable(err)
	}
	return fmt.Errorf("inventory: %w", err)
}

// withStatement adds the statement's description to its error. It returns sql.ErrNoRows
// unchanged.
func withStatement(statement string, err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return fmt.Errorf("%s: %w", describeStatement(statement), err)
}

func describeStatement(statement string) string {
	words := strings.Fields(statement)
	if len(words) == 0 {
		return "run a statement"
	}
	verb := strings.ToUpper(words[0])
	for i, word := range words[:len(words)-1] {
		switch strings.ToUpper(word) {
		case "FROM", "INTO", "UPDATE":
			if table := strings.Trim(words[i+1], "(),"); !strings.EqualFold(table, "SELECT") {
				return verb + " of " + table
			}
		}
	}
	return verb
}

// unreachable reports whether the error means ErrUnreachable. A server that refuses a
// connection because it has too many, or does not know the user, is reachable; one that
// refuses because it is starting or shutting down is not.
func unreachable(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return neverConnected(err) && strings.HasPrefix(e.Code, "57P")
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true
		}
		return false
	}
	return neverConnected(err)
}

func databaseDown(err error) bool {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || postgresDown(err) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff { // the primary result code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH,
		sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}

// retryable reports whether a transaction was rolled back only because of a conflict with
// another one, and may succeed now.
func retryable(err error) bool {
	if errors.Is(err, ErrOvertaken) {
		return true
	}
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// connectionLost reports whether the connection is unusable: it broke, or its server shuts
// down or accepts no writes. A new connection may work, and a commit may have been made.
func connectionLost(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "25006" || strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")
	}
	var network net.Error
	return errors.As(err, &network) || brokenDuringCall(err)
}

// proofFailed reports whether a query has divided by zero, as a [Proof] does.
func proofFailed(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "22012"
}

// serverRefused reports whether the server reported that a statement failed.
func serverRefused(err error) bool {
	return errors.Is(err, ErrOvertaken) || errors.As(err, new(*pgconn.PgError))
}

// postgresDown reports whether the server cannot serve now.
func postgresDown(err error) bool {
	if neverConnected(err) || connectionLost(err) || errors.Is(err, ErrOvertaken) {
		return true
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "55P03", "57014", // a lock or an answer took too long
		"40001", "40P01", // conflicts, in every try
		"3D000", "42501": // no such database, no right to it
		return true
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "28", "53", "58", "XX": // credentials, resources, the system, damage
		return true
	}
	return false
}

func neverConnected(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect)
}

func brokenDuringCall(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
