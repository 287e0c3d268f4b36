// Package throttle bounds how many requests callers send, as ARM does: by token buckets
// for reads, writes and deletes, of each caller in each subscription, of each caller at
// its tenant, and of each subscription as a whole.
//
// A request takes a token of the caller's bucket and one of the subscription's, or none
// where one of both is empty. The subscription's is several times as large, so that one
// caller can use up that part of it and no more.
//
// # Who pays
//
// A subscription's bucket is touched only by callers for whom the subscription exists.
// Until that is known, and where it turns out otherwise ([Ticket.Disown]), the caller's
// bucket at its tenant pays: whoever invents subscriptions, or calls those of others,
// throttles only itself, and adds no bucket to memory.
//
// A list over several regions costs one token for each. What the buckets lack becomes a
// debt ([Ticket.Charge]): a refusal could never end for a list over more regions than a
// bucket holds, and has no true Retry-After where other requests are let through
// meanwhile. A debt lasts for [MaxWait] at most.
//
// # Replicas
//
// Each replica keeps buckets of its own, of its share of the limits: the limits divided
// by the number of live replicas, as far as the replica knows. Together they let through
// what the limits say. While that number changes, one that joins brings full buckets,
// and the others may not know of it yet: for that time it is less than twice the limits.
// Were each replica to know of no other, it would be the limits times the replicas.
//
// The package reads no clock: requests bring the time of their arrival.
package throttle
