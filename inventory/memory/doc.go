// Package memory caches parts of the store in a replica, with bounds on size and age: the
// region of a resource ([Locations]), and the values that every request needs first, such
// as its subscription, its group, a registration and its caller's grants. The caller chooses
// these values: a [ScopeTable] holds values of one kind that each depend on a subscription,
// a [Joint] values that also depend on a tenant, and [Changes] tracks whether they are
// current. Look-ups use hashed keys and allocate nothing. Callers share reads of the store,
// but never a read that began before their call.
//
// [Locations] serves only reads, and never remembers an absence. A replica forgets at once
// the locations that it writes, but does not follow the writes of others, so a location can
// be outdated by up to the TTL. The rest of this comment is about the other tables.
//
// A tenant has a row in the change sequence like a subscription's, under another name: see
// [TenantPartition].
//
// # Coherence
//
// Every transaction that changes a value of a subscription also gives the
// subscription's row in the change sequence a new random generation, with the store's
// time. While a replica uses its memory it polls, at most once per [Interval], by one
// statement for the rows written since a [Window] before the last successful poll. It
// forgets everything about each subscription with a generation that it has not seen
// before. It forgets its own changes as soon as they are committed.
//
// Memory answers requests within [Bound] after the last successful poll. What counts is
// the time at which the request arrived or, for a caller's permissions, the time of the
// decision, which can be much later on a busy processor. After that time, for example
// after a pause without requests, a request for a remembered value waits for the running
// or next poll, which all waiting requests share: a burst after a pause costs the store
// one round trip. The bound holds for the time after the wait, too. A request for another
// value, or one that cannot wait longer, reads the store. After a pause longer than the
// window, all values that were read before are forgotten. An unused replica does not poll.
//
// A row's time is drawn before its commit, so the row may become visible after a poll that
// has seen later times. Therefore no poll continues from the last row of the previous one:
// each looks back by the window, and generations show which rows are new. A change would
// be missed if it became visible more than the window after its time was drawn. The engine
// ends transactions long before that. Only a commit that waits for a standby can take
// longer, and while the standby is missing no change is confirmed to any caller. Memory
// shows the changes of such a commit once the old values exceed their age, at most the TTL.
//
// A value that was read before a change must not be used after it. So each read records the
// change count of its subscription before it begins, and its value is valid only while
// the count stays the same. A change that is noticed during or after the read thus makes
// the value invalid.
//
// # Without the store
//
// While the store cannot be reached, memory answers without it, for at most the TTL after
// the last successful poll. For that whole time it uses every value that was valid at that
// poll, because most requests need several values. A value can thus be twice the TTL old. A
// gateway that has lost its own connection to the store misses the changes of others for
// that long. The store counts as down only if no connection can be made, and polls have a
// connection of their own, so that load does not look like an outage. A poll that times out
// is repeated; until one succeeds, memory is not used beyond the bound, and requests read
// the store. A value is also used if a request's own read of it finds that the store cannot
// be reached.
//
// # What memory may be used for
//
// A value is at most [Bound] behind the commits of other replicas. Memory thus serves reads
// and permissions. A denial is checked in the store before it is returned, but a permission
// may be stale. Each user of the tables documents where, and why no caller notices: see the
// scopes of package inventory.
package memory
