// Package engine runs SQL on the database that the inventory lives in: SQLite
// for a single process, PostgreSQL for any number of them. It opens and migrates
// the database, keeps connections, prepares statements, tells the time, and
// commits writes in groups. It knows no table: the caller says by [LockSet] which
// rows a write locks, and by [Unit] what is kept beside them.
//
// One set of SQL texts serves both engines: ? for arguments, [ForUpdate] where a
// row is locked, ON CONFLICT and affected-row counts instead of exceptions. The
// engines differ in a small value, dialect, and in how their sessions begin and
// commit.
//
// Every connection that writes has a queue and a goroutine. Up to 64 waiting
// writes share a transaction. If one of them is refused after it has changed
// something, the transaction is rolled back, and they run again, each in a
// savepoint of its own. Readers have a pool.
//
// A commit is visible when it returns. It has waited for the disk, and for that
// of a standby if there is one, unless all of its writes are [Unflushed]. If
// nobody knows whether a commit was made, it counts as failed.
package engine
