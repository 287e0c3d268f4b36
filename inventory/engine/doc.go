// Package engine runs SQL on the database that the inventory lives in: SQLite for a
// single process, PostgreSQL for any number of them. It opens and migrates the
// database, keeps connections, prepares statements, tells the time, and commits writes
// in groups. It knows no table: the caller says by [LockSet] which rows a write locks,
// and by [Unit] what state goes with them.
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
// On PostgreSQL a transaction takes two round trips: one that locks and reads, and one
// that writes and commits. The rest is left to a [Proof]: a query that fails in the
// second one, before the commit, if something is not as the transaction takes it to be.
// Then the transaction is repeated, and reads what it expected. A write that locks
// nothing but what it has an [Expectation] of needs one round trip. SQLite needs no
// proofs: it reads the generation at once, and a statement says how many rows it has
// changed.
//
// A commit is visible when it returns. It has waited for the disk, and for that of a
// standby if there is one, unless all of its writes are [Unflushed]. A commit of
// unknown outcome counts as failed.
package engine
