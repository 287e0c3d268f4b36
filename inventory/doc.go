// Package inventory is what Portico itself remembers: subscriptions, resource
// groups, provider registrations, the index of tracked resources with the
// writes that are on their way to a provider, and the polling URLs that were
// handed out. Routing, 404s, quotas, lists and group deletes stand on it.
//
// # How the index stays true
//
// A write to a tracked resource is told here twice: [Store.Begin] records the
// intent, durably, before the first byte leaves, and [Store.Settle] records
// what the provider's answer means. A row is Pending while nothing is known,
// Live once the resource was seen, Deleting while an accepted delete is being
// followed; beside that stands Verify: something ambiguous happened and the
// provider has to be asked, which ends with [Store.Observe]. What each event
// makes of a row and of the open intents is one pure function, settle in
// settle.go; the SQL around it only loads a state and stores the outcome.
//
// Every change of what is known gives the row a new random generation. What a
// GET said counts only if the generation is still the one that was read before
// asking, so nothing that arrives late can undo what was learnt since.
//
// # What is done later
//
// What outlives a request is a [Job]: whoever claims it holds it for a lease,
// and every update names the token that the claim raised, so that a holder who
// was replaced can record nothing any more. A flagged row has a job that
// verifies it, a followed one a job for each kind of write; they are written
// and removed by the transaction that sets and clears what they stand for.
//
// A group is deleted by a job as well, which [Store.BeginDeletion] makes while
// it marks the group; from then on only that job's writes are admitted. Either
// [Store.CloseGroupBy] or [Store.ReopenGroup] ends both at once. A [Lock] on the
// subscription, on the group or in it forbids to begin.
//
// # How it is stored
//
// One set of SQL texts serves every engine, from a subset that leaves the door
// open to distributed ones: tables led by the subscription, ids and times made
// here and passed in, ON CONFLICT and affected-row counts instead of
// exceptions. What engines differ in is a small value, dialect. The embedded
// engine is SQLite: one goroutine writes, up to 64 waiting writes per
// transaction, each in a savepoint of its own; readers have a pool.
//
// Identifiers given to the package may have any casing; they are folded here
// (see arm.Fold) and compared bytewise. Times are UTC microseconds.
package inventory
