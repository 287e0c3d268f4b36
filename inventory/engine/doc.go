// Package engine runs SQL on the database that the inventory lives in: SQLite for a
// single process, PostgreSQL for any number of them. It opens and migrates the
// database, keeps connections, prepares statements, keeps the store's time, and commits
// writes in groups. It knows no table: the caller's [LockSet] lists the rows that a write
// locks, and its [Unit] holds their state.
//
// One set of SQL texts serves both engines: ? for placeholders, [ForUpdate] to lock
// rows, ON CONFLICT and affected-row counts instead of exceptions. The differences are
// in a small type, dialect, and in how the sessions begin and commit.
//
// Every connection that writes has a queue and a goroutine. Up to 64 waiting
// writes share a transaction. If one of them is refused after it has changed
// something, the transaction is rolled back, and they all run again, each in its own
// savepoint. Readers share a pool.
//
// On PostgreSQL a transaction takes two round trips: one locks and reads, the other
// writes and commits. All else that the transaction assumes is checked by a [Proof]: a
// query in the second round trip that fails before the commit if the assumption is
// wrong. The transaction is then repeated, and reads instead of assuming. A write that
// locks only rows with an [Expectation] needs one round trip. SQLite needs no proofs,
// because a read or a count of changed rows costs it no round trip.
//
// A commit is visible when it returns. By then it is on disk, also on the standby's if
// there is one, unless all of its writes are [Unflushed]. A commit of unknown outcome
// counts as failed.
package engine
