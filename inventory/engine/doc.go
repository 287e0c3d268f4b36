// Package engine runs SQL on the database that the inventory lives in: SQLite
// for a single process, PostgreSQL for any number of them. It opens and migrates
// the database, keeps connections, prepares statements, tells the time, and
// commits writes in groups. It knows no table: which rows a write locks, and what
// is remembered beside them, its caller says by [LockSet] and [Unit].
//
// One set of SQL texts serves both engines: ? for arguments, [ForUpdate] where a
// row is locked, ON CONFLICT and affected-row counts instead of exceptions. What
// engines differ in is a small value, dialect, and how their sessions begin and
// commit.
//
// Every connection that writes has a queue and a goroutine. Up to 64 waiting
// writes share a transaction. If one of them is refused after it has changed
// something, the transaction is rolled back, and they run again, each in a
// savepoint of its own. Readers have a pool.
//
// A commit is visible when it returns. It has waited for the disk, and for that
// of a standby where there is one, unless all of its writes are [Unflushed]. If
// nobody knows whether a commit was made, it counts as failed.
package engine
