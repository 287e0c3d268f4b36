// Package jobs runs durable work: it claims the jobs of the inventory, holds
// each by a lease, makes attempts at it, and decides when the next one is due.
// It knows no kind of work; a [Kind] is given to the [Runner] under the name of
// its jobs.
//
// Any replica may claim a job. A runner that dies or loses its lease leaves the
// job to another, and the inventory refuses whatever the former holder still
// tries to record. So a kind must only be right if its work is done twice. A
// runner makes a bounded number of attempts at a time, for each kind and of those
// in each region: one that hangs holds up no other.
package jobs
