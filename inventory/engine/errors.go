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
	// ErrUnavailable is wrapped by every error that means that the database cannot serve
	// now. The outcome of a write with this error is unknown.
	ErrUnavailable = errors.New("inventory: the store is unavailable")

	// ErrUnreachable is also wrapped by such an error if there is no database to ask: no
	// server takes a connection, or the file cannot be read. A slow or busy server is
	// reachable.
	ErrUnreachable = errors.New("it cannot be reached")

	// ErrNotFound means that the database lacks what was asked for.
	ErrNotFound = errors.New("inventory: not found")

	// ErrClosed says that the engine is closed.
	ErrClosed = errors.New("it is closed")

	// ErrOvertaken ends a transaction that expects what another one has changed, or would
	// create what another one created after its read. The transaction is repeated.
	ErrOvertaken = errors.New("inventory: another transaction was faster")

	// ErrRunSeparately ends a transaction that must be repeated with its members in
	// savepoints, to find out which of them is refused.
	ErrRunSeparately = errors.New("inventory: the batch has to run singly")
)

// UnsureError is the failure of a commit that may have been made all the same.
type UnsureError struct{ error }

func (e UnsureError) Unwrap() error { return e.error }

func unsure(err error) bool {
	var e UnsureError
	return errors.As(err, &e)
}

// OrNotFound turns the absence of a row into ErrNotFound.
func OrNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// Unavailable makes err one that ErrUnavailable matches.
func Unavailable(err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Classify distinguishes a store that is down, a caller that gave up, and Portico's own
// fault. A deadline that passes while the store works on the call counts as both the
// caller's and the store's.
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
	if down(err) {
		return Unavailable(err)
	}
	return fmt.Errorf("inventory: %w", err)
}

// ofStatement adds to an error which statement it is of. The absence of a row stays as it is.
func ofStatement(statement string, err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return fmt.Errorf("%s: %w", subject(statement), err)
}

// subject names a statement by its verb and the first table in it.
func subject(statement string) string {
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

// unreachable reports whether an error is one of ErrUnreachable. A server that refuses a
// connection because it has too many, or does not know the user, is reachable; one that
// is starting or shutting down says so, and is not.
func unreachable(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return unreached(err) && strings.HasPrefix(e.Code, "57P")
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true
		}
		return false
	}
	return unreached(err)
}

func down(err error) bool {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || postgresDown(err) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff { // the primary code; the rest is the variety
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH,
		sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}

// retryable reports whether a transaction was rolled back only because it lost against
// another one, and may succeed now.
func retryable(err error) bool {
	if errors.Is(err, ErrOvertaken) {
		return true
	}
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// lost reports whether the connection is unusable: it broke, the server shuts down, or
// accepts no writes. It says nothing about the next connection, nor whether a commit
// was made.
func lost(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "25006" || strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")
	}
	var network net.Error
	return errors.As(err, &network) || brokenOff(err)
}

// disproved reports whether a query has divided by zero, as a [Proof] does.
func disproved(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "22012"
}

// refused reports whether the server said that a statement failed.
func refused(err error) bool {
	return errors.Is(err, ErrOvertaken) || errors.As(err, new(*pgconn.PgError))
}

// postgresDown reports whether the server cannot serve now.
func postgresDown(err error) bool {
	if unreached(err) || lost(err) || errors.Is(err, ErrOvertaken) {
		return true
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "55P03", "57014", // a lock or an answer took too long
		"40001", "40P01", // again and again
		"3D000", "42501": // no such database, no right to it
		return true
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "28", "53", "58", "XX": // credentials, resources, the system, damage
		return true
	}
	return false
}

// unreached reports whether there was no server to connect to.
func unreached(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect)
}

// brokenOff reports whether a connection ended during a call.
func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
