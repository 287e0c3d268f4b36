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
// makes of a row and of the open intents is one pure function, [index.Settle];
// the SQL around it only loads a state and stores the outcome.
//
// A PATCH is told of like a PUT or DELETE, though it can neither make a resource
// nor remove it: it changes what the index shows, casing and tags, and one that got
// no answer may land as late as they. It makes no row and takes no quota, keeps no
// other write's answer and no GET from being proof, and holds its group's end back
// like any write that is open.
//
// Every change of what is known gives the row a new random generation. What a
// GET said counts only if the generation is still the one that was read before
// asking, so nothing that arrives late can undo what was learnt since.
//
// # The rules
//
// By these numbers tests name the rule without which they fail; package gateway
// and the packages of jobs keep those that concern requests and jobs.
//
//   - R1: a write leaves only after its intent is durable, and once: its first byte
//     not past the time that the intent gives it, its last not past the intent's
//     end.
//   - R2: an intent and the end of its group lock the group's row; a group ends
//     only where neither a row, nor a stray, nor a call that may be running is left.
//   - R3: a definite answer settles before its client has it. Losing the settle
//     leaves the intent open. A 404 to a DELETE is definite only where it speaks of
//     the resource; any other flags the row.
//   - R4: an intent ends by knowledge or by time, which flags the row. A refused
//     create takes along only the row that it made and nothing else touched.
//   - R5: an answer is proof only if no opposing write was open meanwhile, nor its
//     operation followed. Only a GET lifts the flag. Nothing opposes a PATCH but a
//     DELETE, which it does not. What a GET shows is shown at once, proof or not.
//   - R6: a follow ends by flagging the row; a GET that shows a terminal state or
//     nothing is the one end of both. It ends when Portico's own poll shows a
//     terminal state. Where own polls know of no such operation, again and again,
//     or a newer one takes its place, it is lost: for the late-write window it then
//     counts as a write without an answer. What a client's poll shows ends nothing.
//   - R7: generations decide. An answer settles while its own intent is open, a
//     GET while the row is of the generation that was read before. Where a row's is
//     no longer that of the intent, writes overlapped, and what the last of them
//     made is asked for.
//   - R8: what Portico writes by itself is an intent like a client's.
//   - R9: what a client sees has Portico ask by itself before the client sees it.
//     Absence is what its own GET says, under its own identity, in words that speak
//     of the resource. Another place is refused by a row that is not plainly alive
//     only after its provider was asked.
//   - R10: when a parent goes, all below it is flagged and asked for.
//   - R11: caches serve reads alone, and what says "nothing there" from a cached
//     place is checked against the store.
//   - R12: absence is claimed only where it was seen: coverage.
//   - R13: a sweep adopts only by a fresh GET, with no write open and no later
//     tombstone; a second region's resource is a stray and moves nothing.
//   - R14: before a group goes it is looked at wherever it ever sent a write, and
//     wherever coverage is missing.
//   - R15: a move waits for the writes before it, and lets none in until the fate of
//     all that moves is known; what is on its way proves nothing by a GET.
//   - R16: a group ends over writes of unknown fate, and over rows that only these
//     keep from being gone. Each leaves a [Fence] on its ID until it can no longer
//     be applied: nothing is made or adopted under a fence, and what lands there,
//     which can only be a PUT of the group that has gone, is deleted.
//
// # Subscriptions
//
// Each change of a [Subscription], of a [Registration] or of a feature raises the
// subscription's version, and makes in the same transaction a job for each
// endpoint that must learn it; such a job ends only by [Store.EndNotice], which
// finds no newer version while it holds the subscription's row. The end of a
// registration, and the erasing of a deleted subscription, lock the rows of all
// groups before they look: a write or a move that began before is seen, and one
// that comes later reads the new state, as it reads that behind its groups' locks.
// A registration stays while a move brings something of its namespace, and erasing
// waits for the end of a move. Groups are made only while the subscription's row is
// held, so none is missed.
//
// What lands after its provider confirmed that a subscription is Deleted would
// stay for good: when nothing is open any more, all are told once more, and erasing
// waits for their confirmations of that version ([Subscription].Final). An endpoint
// that the region map lacks for too long stays on record, also behind the erasing,
// and is told when the map has its region again ([Store.TellReturned]); a
// subscription is not made anew before.
//
// # Regions that are gone
//
// [Store.RetireRegion] forgets all that is known of a region which the map no
// longer has. It is the one place where a row goes, and an intent ends, by no
// answer and no time: an operator says that nobody will ever ask there again.
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
// [Store.DeleteGroupBy] or [Store.ReopenGroup] ends both at once. A [Lock] on the
// subscription, on the group or in it forbids to begin.
//
// Resources move to another group by a job as well, for which [Store.BeginMove]
// marks both groups, locked in the order of subscription and key. Each call to a
// provider is told here before ([Store.BeginMoveCall]) and after
// ([Store.SettleMove]); between the two it stands as an intent of its own kind,
// under the old and the new ID of all that moves, that ends by knowledge alone.
// Rows change their keys with all that belongs to them, and leave tombstones.
//
// Locks are judged in the transaction of an intent, or of a group's mark, while it
// holds the group's row. Who sets a lock waits, by [Store.Outlast] and within
// a bound, for the calls and moves that were admitted without seeing it: first for
// whoever holds a row of the groups concerned, then for what it forbids to end. A
// write whose call has ended without a definite answer is not waited for, and the
// deletion of a group that was accepted before goes on. Locks go with what they
// stand on.
//
// A batch of requests that is too long to be answered at once is a job of its
// own kind, see [Store.BeginRequestBatch]. What is in it and in its answers is
// encrypted. A request that changes something is recorded before it is sent, once
// for all time, so that whoever goes on with the batch never sends it again. Its
// bytes are counted for its caller and for all, as quotas are, until they go.
//
// # Where things are
//
// The rule, with its walk, is package index; how statements get to a database,
// package engine; the rows of jobs, package jobrow; the cache of locations, package
// locations; the keys of what is encrypted, package encryption. What is left here is larger than those, as all of it shares one
// transaction: a write holds a group's row, a resource, quotas, locks and jobs at
// once (tx in transaction.go, resourceTx in resource_tx.go). Its files go by what
// they are about: intent, answer, expire, adopt, stray and fence for writes and
// what becomes of them; group and deletion; move; subscription, registration,
// notice and erase; retire; lock; operation and request_batch; lock_set and
// locked_state for what a write locks, and what is read behind that.
//
// # How it is stored
//
// One set of SQL texts serves every engine, from a subset that leaves the door
// open to distributed ones: tables led by the subscription, ids and times made
// here and passed in, ON CONFLICT and affected-row counts instead of exceptions.
//
// Every commit is visible when it returns. It has waited for the disk, and for
// that of a standby where there is one, unless what it records is harmless to
// lose: above all what an answer meant, as its intent is then still open. A
// commit of which nobody knows whether it was made counts as failed: an intent
// in it is never sent, and ends by time.
//
// Identifiers given to the package may have any casing; they are folded here
// (see arm.Fold) and compared bytewise. Times are UTC microseconds.
package inventory
