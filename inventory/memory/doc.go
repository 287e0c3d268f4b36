// Package memory is what a replica remembers of the store, in bounded memory and for a
// bounded time: which region holds a resource ([Locations]), and what every request asks
// for first, its subscription, its group, a registration, what its caller was granted.
// Its users say what these are: a [ScopeTable] holds values of one kind, each of one
// subscription, a [Joint] those that depend on a tenant as well, and [Changes] says whether
// they still hold. Under all of them a lookup takes no string and allocates nothing, and
// callers share reads of the store, but never one that began before they asked.
//
// [Locations] serves reads alone, and never remembers an absence. What a replica writes it
// forgets at once; what others write it does not follow, so a location can be outdated by as
// much as the TTL. The rest of this comment is about the other tables.
//
// What belongs to a tenant has a row in the change sequence like a subscription's, by
// another name: see [TenantPartition].
//
// # Coherence
//
// Every transaction that changes a value of a subscription also gives the
// subscription's row in the change sequence a new random generation, with the store's
// time. While a replica uses its memory it asks, at most once an [Interval] and in one
// statement, for the rows that were written since a [Window] before the last question
// that was answered, and forgets all that it holds of each subscription whose generation
// it has not seen before. Its own changes it forgets as soon as they are committed.
//
// Memory answers whoever asks within [Bound] of the last question that was answered: by
// the time at which a request arrived or, of what its caller may do, at which that is
// decided, which can be much later where the processor is busy. After that, because no one
// asked for a while or the replica was stopped, it vouches for nothing. A request for what
// memory holds then waits for the question that is under way or comes next, one for all
// who wait: a burst after a pause costs the store one round trip. Its answer too counts
// within the bound of its question alone. A request for what memory does not hold, or which
// cannot wait any longer, reads the store. After a pause of more than the window nothing is
// vouched for that was read before. A replica that no one uses asks nothing.
//
// A number or a time that is drawn before the commit may become visible behind a
// reader that has seen later ones. So a reader here never goes on from the last row
// that it saw: each question looks back behind the last one, and generations tell what
// is new. A change would be missed if it became visible more than the window after its
// time was drawn. The engine ends transactions long before that; only a commit that
// waits for a standby can take longer, and while one is missing no change is
// confirmed to anybody. What such a commit changed is seen when the value's age, of
// at most the TTL, is over.
//
// What was read before a change must not be kept after it. A reading notes the count
// of changes of its subscription before it begins, and what it kept holds only while
// that count stands; so a change that is noticed during the reading, or at any time
// after, ends it.
//
// # Without the store
//
// If the store cannot be reached, memory answers without it, until the TTL is over since the
// store last answered: with every value that it held then, so that requests which need
// several are served for as long as the TTL, and not until the first of these is over. A
// value can thus be twice the TTL old, and a gateway that others can do without misses what
// they change for that long. Only the lack of a connection says so, and the question has one of its own, which
// no request can take. A question that is not answered in time is asked again; until one
// is answered, memory vouches for nothing that is older than the bound, and requests read
// the store. A value whose own reading fails as the store cannot be reached answers as
// well.
//
// # What memory may be used for
//
// A value is at most [Bound] behind what another replica committed. Memory thus
// answers reads, and what a caller may do, and what it denies is asked of the store
// before it is said. A yes may thus be stale. Each user of the tables documents where,
// and why no caller sees it: see the scopes of package inventory.
package memory
