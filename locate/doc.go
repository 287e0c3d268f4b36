// Package locate asks providers what the index does not know or is not sure of.
//
// A [Prober] asks whether the resource of a row still exists, and records what
// the answer proves. A [Finder] looks for a resource that has no row, in every
// region where its absence was not seen, and lets the index adopt it. An
// [EmptinessCheck] lists the collections of a resource group before the group goes.
//
// The rule: only an answer counts. A region that gives none makes the question
// inconclusive, which is an error that names the region, and never an absence.
//
// A Prober asks as Portico itself: what a provider shows to one caller proves
// nothing. The other two ask on behalf of a [Caller]. Nothing here knows the request
// or the job that asks.
package locate
