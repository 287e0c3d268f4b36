// Package inventory is Portico's own record: subscriptions, resource groups,
// provider registrations, the index of tracked resources with the open writes to
// them, and the polling URLs that Portico handed out. Routing, 404s, quotas, lists
// and group deletions rest on it.
//
// # How the index stays true
//
// A write to a tracked resource is recorded twice: Store.Begin records the intent,
// durably, before the first byte leaves, and Store.Settle records what the provider's
// answer means. A row is Pending while nothing is known, Live once the resource was
// seen, Deleting while an accepted delete is being followed. Independently of the
// phase, the flag Verify says that something ambiguous happened and Portico has to ask
// the provider; Store.Observe lifts it. One pure function, index.Settle, decides what
// each event makes of a row and of the open intents; the SQL around it only loads a
// state and stores the outcome.
//
// A PATCH has an intent like a PUT or DELETE, though it can neither create a
// resource nor remove it: it changes what the index shows, casing and tags, and an
// unanswered one may land as late as they. It creates no row and takes no quota,
// keeps no other write's answer and no GET from being proof, and delays the end of
// its group like any open write.
//
// Everything that the index learns gives the row a new random generation. A GET counts
// only if the row still has the generation that was read before the call, so a late
// answer cannot undo what was learnt since.
//
// # The rules
//
// Tests name the rules by these numbers. Package gateway and the packages of jobs keep
// the rules that concern requests and jobs.
//
//   - R1: a write leaves only after its intent is durable, and once: its first
//     byte not past the time that the intent gives it, its last not past the
//     intent's end.
//   - R2: an intent and the end of its group lock the group's row; a group ends
//     only where neither a row, nor a stray, nor a call that may be running is
//     left.
//   - R3: a definite answer settles before its client has it. Losing the settle
//     leaves the intent open. A 404 to a DELETE is definite only where it speaks
//     of the resource; any other flags the row, and so does a success of a DELETE
//     whose text cannot be read, as a broken answer does. An accepted PATCH is followed as a PUT
//     is; one whose answer does not show what it made flags the row. A success of a
//     PUT whose text is no readable resource says that the write was accepted, and
//     nothing of the resource, which is then followed by GETs.
//   - R4: an intent ends by knowledge or by time, which flags the row. A refused
//     create removes only a row that it created and that nothing else changed.
//   - R5: an answer is proof only if no opposing write was open meanwhile, nor its
//     operation followed. Only a GET lifts the flag. Only a DELETE opposes a PATCH,
//     and a PATCH opposes nothing, nor does its operation, which a GET does not end.
//     What a GET of Portico's own shows of tags, casing and location is shown at once,
//     proof or not.
//   - R6: a follow ends by flagging the row; a GET that shows a terminal state
//     or nothing ends both. It ends when Portico's own poll shows a terminal
//     state. Where own polls repeatedly know of no such operation, or a newer one
//     takes its place, it is lost: for the late-write window it then counts as a
//     write without an answer. What a client's poll shows ends nothing. An answer that
//     cannot be read, or a status that names none, says nothing of the operation, which
//     is polled on. A 200 that shows no readable resource is no GET's proof.
//   - R7: generations decide. An answer settles while its own intent is open, a
//     GET while the row has the generation that was read before. Where the row's
//     is no longer the intent's, writes overlapped, and a GET has to show what the
//     last of them made.
//   - R8: what Portico writes by itself is an intent like a client's.
//   - R9: before a client sees what contradicts the index, Portico asks by itself.
//     Absence is what its own GET says, under its own identity, in words that
//     speak of the resource. A row that is not plainly alive refuses another place
//     only after its provider was asked.
//   - R10: when a parent goes, all below it is flagged and asked for.
//   - R11: caches serve reads alone, and what says "nothing there" from a cached
//     place is checked against the store. So is whatever memory of a subscription, a
//     group or a registration would deny; a write that memory admits is judged again
//     in the transaction of its intent.
//   - R12: absence is claimed only where it was seen: coverage.
//   - R13: a sweep adopts only by a fresh GET, with no write open and no later
//     tombstone; a second region's resource is a stray and moves nothing. Where a list
//     shows other tags than the row, the resource is asked for.
//   - R14: before a group goes, its deletion looks wherever the group ever sent a
//     write, and wherever coverage is missing. What it sees under a fence holds the
//     group back until the fence's job has deleted it.
//   - R15: a move waits for the writes before it, and lets none in until the outcome of
//     each moved resource is known; a GET proves nothing of what is under way. What a
//     provider says it has moved is a claim: a row gets its new key when Portico's own
//     GETs have found the resource at its new place, and not at its old one.
//   - R16: a group ends over writes of unknown outcome, and over rows whose absence only
//     these leave open. Each leaves a Fence on its ID until it can no longer be applied:
//     nothing is created or adopted under a fence, and what lands there, which can only be
//     a PUT of the deleted group, is deleted.
//   - R17: a store that was restored from a copy has seen nothing that was written
//     after it. All coverage ends, rows have new generations, and a group that is as
//     old as the restoration goes only after a look at every region of every type. A
//     row of the copy is asked for before a write, as its resource may have been
//     created in another region since, and nothing under a fence of it is deleted.
//
// # Subscriptions
//
// Each change of a Subscription, of a Registration or of a feature that endpoints must
// learn raises the subscription's version, and creates in the same transaction a job for
// each of these; such a job ends only by Notices.End, which finds no newer version
// while it holds the subscription's row. The end of a registration, and the erasing of a
// deleted subscription, lock the rows of all groups before they look. So
// they see every write or move that began before, and a later one reads the new state
// behind its groups' locks. A registration stays while a move brings resources of its
// namespace, and erasing waits for the end of a move. Creating a group holds the
// subscription's row, so no group is missed.
//
// A write that lands after its provider confirmed the deletion of a subscription would
// stay for good. So when nothing is open any more, the store notifies all endpoints
// once more, and erasing waits for their confirmations of that version
// (Subscription.FinalVersion). An endpoint that the region map lacks for too long stays
// on record, even after the erasing, and is notified when the map has its region again
// (Notices.NotifyReturned); a subscription is not recreated before.
//
// # Regions that are gone
//
// Store.RetireRegion forgets all that is known of a region that the map no longer has.
// Only here an intent ends without an answer and before its time: an operator vouches
// that the region will never be asked again.
//
// # What operators know
//
// Store.ForgetResource accepts the word of an operator in place of a GET that found
// nothing, but only for an unverified row, and only while no call can be under way that
// could create the resource. Fences.ForgetSworn accepts it in place of the GET after a
// fence's time, and Follows.GiveUp loses an operation at the limit of its follow.
// All of these are transitions that the rule has anyway.
//
// # Jobs
//
// Work that outlives a request is a job: a claim gives its holder a lease and a token,
// and every update names that token, so that a holder that was replaced can record
// nothing any more. A flagged row has a job that verifies it, a followed one a job for
// each kind of write; the transaction that sets and clears the flag or the follow also
// creates and removes the job.
//
// A job deletes a group: Deletions.Begin creates it and marks the group; from then
// on only that job's writes are admitted. Either Deletions.DeleteGroup or
// Deletions.ReopenGroup ends both at once. A Lock on the subscription, on the group or in
// it refuses the deletion.
//
// A job moves resources to another group: Moves.Begin marks both groups,
// locked in the order of subscription and key. Each call to a provider is recorded
// before (Moves.BeginCall) and after (Moves.Settle); in between it is an
// intent of its own kind, under the old and the new ID of all that moves, that
// only knowledge ends. Rows change their keys with all that belongs to them, and
// leave tombstones.
//
// Locks are judged in the transaction of an intent, or of a group's mark, while it
// holds the group's row. A caller that sets a lock waits, by
// Locks.WaitForConflictingWrites and within a bound, for the calls and moves that
// were admitted without seeing it: first for the rows of the groups concerned,
// then for the end of what the lock forbids. It does not wait for a write whose
// call has ended without a definite answer, and the deletion of a group that was
// accepted before goes on. Locks go with what they stand on.
//
// # Where things are
//
// The rule, with its walk, is package index; how statements get to a database, package
// engine; what a transaction records at its end, package transaction. Records that need no
// more of a transaction than that have packages of their own, which are fields of the
// Store: polling URLs and batches (operations), tag names and the index of tags (tags),
// roles and what is assigned of them (assignments), events and sinks (eventlog), random
// keys (encryption). So have the rows of jobs with the leases (jobrow), the cache of
// locations (locations) and the memory of subscriptions, groups, registrations and grants
// (scopes). What is left here is larger than those, as all of it shares one transaction: a
// write holds a group's row, a resource, quotas, locks and jobs at once (tx in
// transaction.go, resourceTx in resource_tx.go). Its files go by their subjects: intent,
// answer, expire, adopt, stray and fence for writes and their outcomes; group and
// deletion; move; subscription, registration, notice and erase; retire; unstick; lock;
// locked_state and resource_reads for what a write locks, and what is read behind that.
//
// # How it is stored
//
// One set of SQL texts serves every engine, from a subset that leaves the door
// open to distributed ones: tables led by the subscription, ids and times made
// here and passed in, ON CONFLICT and affected-row counts instead of exceptions.
//
// Every commit is visible when it returns. It has waited for the disk, and for that of
// a standby if there is one, unless its record is harmless to lose. The chief example
// is the meaning of an answer: if that is lost, its intent is still open. A commit of
// unknown success counts as failed: its intent is never sent, and ends by time.
//
// Identifiers given to the package may have any casing; they are folded here (see
// arm.Fold) and compared bytewise. Times are UTC microseconds.
package inventory
