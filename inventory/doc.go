// Package inventory is Portico's own record: subscriptions, resource groups,
// provider registrations, the index of tracked resources with the open writes to
// them, and the polling URLs that Portico handed out. Routing, 404s, quotas, lists
// and group deletions rely on it.
//
// # How the index stays true
//
// A write to a tracked resource is recorded twice: Store.Begin durably records the intent
// before the first byte is sent, and Store.Settle records the outcome. A row is Pending
// while nothing is known, Live once the resource was seen, and Deleting while an accepted
// delete is followed. Independently of the phase, the flag Verify means that something
// ambiguous happened and Portico has to GET the resource; Store.Observe lifts it. One pure
// function, index.Settle, decides how each event changes a row and the open intents; the
// SQL around it only loads a state and stores the result.
//
// A PATCH has an intent like a PUT or DELETE. It can neither create a resource nor remove
// it, but it changes the casing and the tags in the index, and an unanswered PATCH may be
// applied as late as other writes. It creates no row, takes no quota, and does not stop
// another write's answer or a GET from being proof, but it delays the end of its group
// like any open write.
//
// Whenever the index learns something, the row gets a new random generation. A GET counts
// only if the row still has the generation that was read before the call, so a late
// answer cannot undo newer knowledge.
//
// # The rules
//
// Tests refer to the rules by these numbers. Package gateway and the packages of jobs keep
// the rules about requests and jobs.
//
//   - R1: a write is sent only after its intent is durable, and once. Its first byte
//     leaves within the time that the intent allows, its last before the intent ends.
//   - R2: an intent and the end of its group lock the group's row. A group ends only if
//     no row, no stray, and no call that may be running is left.
//   - R3: a definite answer settles before its client has it. If the settle is lost, the
//     intent stays open. A 404 to a DELETE is definite only if it is about the resource;
//     any other 404 flags the row, and so does a successful DELETE whose text cannot be
//     read, as a broken answer does. An accepted PATCH is followed like a PUT; an answer
//     that does not show the result of the PATCH flags the row. A successful PUT whose
//     text is not a readable resource counts as accepted, and GETs follow it.
//   - R4: an intent ends by knowledge or by time, and the latter flags the row. A refused
//     create removes only a row that it created and that nothing else changed.
//   - R5: an answer is proof only if no opposing write was open meanwhile, nor its
//     operation followed. Only a GET lifts the flag. Only a DELETE opposes a PATCH, and a
//     PATCH opposes nothing, nor does its operation, which a GET does not end. The tags,
//     the casing and the location in a GET of Portico's own are shown at once, proof or
//     not.
//   - R6: the end of a follow flags the row; a GET that shows a terminal state or nothing
//     ends both. A follow ends when Portico's own poll shows a terminal state. If its own
//     polls repeatedly find no such operation, or a newer operation replaces it, it is
//     lost: for the late-write window it then counts as a write without an answer. A
//     client's poll ends nothing. An answer that cannot be read, or a status that is not
//     an operation's, proves nothing about the operation, and polling continues. A 200
//     without a readable resource is not proof.
//   - R7: generations decide. An answer settles while its own intent is open, a GET while
//     the row has the generation that was read before. If the row has another generation
//     than the intent, writes overlapped, and a GET has to show the result of the last.
//   - R8: Portico's own writes have intents like clients' writes.
//   - R9: before a client gets an answer that contradicts the index, Portico sends a GET
//     of its own. Only that GET, under Portico's identity and with a 404 about the
//     resource, proves absence. A row that is flagged, followed or Pending refuses another
//     location only after a GET.
//   - R10: when a parent is removed, everything below it is flagged and verified.
//   - R11: caches serve only reads, and a "not found" from a cached location is checked
//     against the store. So is any refusal because of a cached subscription, group or
//     registration; a write that the cache admits is checked again in the transaction of
//     its intent.
//   - R12: absence is claimed only after it was seen: coverage.
//   - R13: a sweep adopts a resource only after a fresh GET, if no write is open and there
//     is no later tombstone. A resource of a second region is a stray and moves nothing.
//     If a list shows other tags than the row, Portico sends a GET of the resource.
//   - R14: before a group is removed, its deletion looks in every region to which the
//     group ever sent a write, and wherever coverage is missing. A resource under a fence
//     delays the removal until the fence's job has deleted it.
//   - R15: a move waits for earlier writes, and admits none until the outcome for each
//     moved resource is known; a GET proves nothing about a call under way. A provider's
//     answer that it moved a resource is only a claim: the row gets its new key when
//     Portico's own GETs have found the resource under its new ID, and not under the old.
//   - R16: a group can be removed despite writes of unknown outcome, and despite rows that
//     only these keep from being absent. Each write leaves a Fence on its ID until it can
//     no longer be applied. Nothing is created or adopted under a fence; a resource that
//     appears there can only come from a PUT of the deleted group, and is deleted.
//   - R17: a store that was restored from a copy does not know the writes after the copy.
//     All coverage ends, and all rows get new generations. A group that is as old as the
//     restoration is removed only after a look in every region of every type. A row of the
//     copy is verified before a write, because its resource may have been created in
//     another region since, and nothing under one of its fences is deleted.
//
// # Subscriptions
//
// Each change of a Subscription, a Registration or a feature that endpoints must know
// raises the subscription's version, and creates a job for each endpoint in the same
// transaction. Such a job ends only by Notices.End, which checks that there is no newer
// version while it holds the subscription's row. Unregister and the erasing of a
// deleted subscription lock the rows of all groups before they read. So they see every
// write or move that began before, and a later one waits for its group's lock and then
// reads the new state. A namespace stays registered while a move brings resources of it,
// and erasing waits for the end of a move. Creating a group locks the subscription's row,
// so no group is missed.
//
// A write that lands after its provider confirmed the deletion of a subscription would
// stay for good. So when nothing is open any more, the store notifies all endpoints once
// more, and erasing waits until they confirm that version (Subscription.FinalVersion). An
// endpoint that the region map lacks for too long stays on record, even after the erasing,
// and is notified when the map has its region again (Notices.NotifyReturned); the
// subscription is not recreated before.
//
// # Regions that are gone
//
// Store.RetireRegion deletes all records of a region that the map no longer has. Only here
// an intent ends without an answer and before its time: an operator guarantees that the
// region will never be called again.
//
// # What operators know
//
// Store.ForgetResource accepts an operator's word in place of a GET that found nothing, but
// only for an unverified row, and only while no call can be under way that could create
// the resource. Fences.ForgetSworn accepts it in place of the GET after a fence's time, and
// Follows.GiveUp loses an operation once it was followed for a limit. The rule has all of
// these transitions anyway.
//
// # Jobs
//
// Work that outlives a request is a job. A claim gives its holder a lease and a token, and
// every update names the token, so a holder that lost its lease can record nothing. A
// flagged row has a job that verifies it, and a followed row has a job for each kind of
// write; the transaction that sets or clears the flag or the follow also creates or removes
// the job.
//
// A job deletes a group: Deletions.Begin creates it and marks the group, which then admits
// only that job's writes. Either Deletions.DeleteGroup or Deletions.ReopenGroup ends both.
// A Lock on the subscription, on the group or in it refuses the deletion.
//
// A job moves resources to another group: Moves.Begin marks both groups, locked in the
// order of subscription and key. Each call to a provider is recorded before it is sent
// (Moves.BeginCall) and after its end (Moves.Settle). In between it is an intent of its own
// kind, under the old and the new ID of everything that moves, which only knowledge ends.
// Rows change their keys together with their other records, and leave tombstones.
//
// Locks are checked in the transaction of an intent, or of a group's mark, while it holds
// the group's row. A caller that sets a lock waits in Locks.WaitForConflictingWrites, up to
// a limit, for the calls and moves that were admitted without seeing it: first for the rows
// of the groups concerned, then for the end of the calls that the lock forbids. It does not
// wait for a write whose call has ended without a definite answer, and a deletion of a group
// that was accepted before continues. A lock is removed with its scope.
//
// # How the package is divided
//
// The methods of Store are about subscriptions, groups and registrations, and about tracked
// resources and the writes to them. Every other subject is a field of Store. Pass such a
// field instead of the Store to whoever needs one subject only.
//
// Subjects that lock groups and resources as writes do are types of this package: Coverage,
// Deletions (of groups), Fences, Follows, Locks, Moves, Notices and Strays. They share one
// kind of transaction (tx in transaction.go, resourceTx in resource_tx.go), which holds a
// group's row, a resource, quotas, locks and jobs together. locked_state and resource_reads
// have the rows that such a transaction locks, and those that it reads after that.
//
// Records that need less have packages of their own: jobs with their leases (jobrow),
// polling URLs and batches (polls), deployments (deploymentrow), tag names and the index of
// tags (tagindex), roles and their assignments (assignments), events and sinks (eventlog),
// errors and names of callers (observed), random keys (encryption), and the caches of
// locations and scopes (memory).
//
// The rule and its walk are in package index, connections and statements in package engine,
// and the end of every transaction in package transaction.
//
// # How it is stored
//
// The same SQL texts serve every engine. They use a subset that distributed engines have
// too: tables whose keys begin with the subscription, ids and times made here and passed
// in, ON CONFLICT and affected-row counts instead of exceptions.
//
// Every commit is visible when it returns. It has been flushed to the disk, and to a
// standby's disk if there is one, unless its record is harmless to lose. The chief example
// is the outcome of a write: if it is lost, the intent is still open. A commit of unknown
// success counts as failed: its intent is never sent, and ends by time.
//
// Callers may pass identifiers in any casing; the package folds them (see arm.Fold) and
// compares them bytewise. Times are UTC microseconds.
package inventory
