// Package operations is the work that Portico does by itself, outside of any
// client's request.
//
// Such work is durable: it is a job in the inventory, and a [Runner] on any
// replica takes it, one at a time, by lease. A runner that dies or loses its
// lease leaves the job to another, and whatever it may still try to record is
// refused by the job's token; so what a kind of work does must only be right if
// it is done again. Each kind is a [Kind] that the runner is given by name. A
// runner works on so many jobs of each kind at a time, and of those whose work
// depends on a region so many in each: one that hangs holds up no other.
//
// Two kinds keep the index true where an answer left it in doubt. A
// [Verification] asks the provider, by GET, about a row that is flagged, until
// that settles it; where the api-version of the row is refused for long, with the
// newest of its type. A [Following] polls the operation of an accepted write; its
// end is never proof, but has the row verified. Both ask by way of a
// [locate.Prober], which clients' requests use as well where their answer waits for
// one.
//
// [Sweeping] looks at everything, on a schedule or when it is told to: it lists
// what the providers hold and mends the index where the two differ, but only by
// what a GET of the single resource said.
//
// [Noticing] tells the endpoints of providers what has become of a subscription,
// so that each learns the newest version last; [Settling] and [Erasing] bring
// registrations and deleted subscriptions to their end.
//
// A [GroupDeletion] deletes what a group holds, and then the group. Which
// resource is next, and what a refusal of one means for the others, is decided
// by a pure value, deletion in deletion.go; the work around it makes the calls,
// each an intent in the inventory like a client's write, and can be taken over
// at any point, as nothing but rows, strays and intents says what is left.
//
// A [Moving] has providers move resources to another group, each in one call per
// region. What an answer means, what is to be asked under which ID, and when a call
// may be sent again is decided by a pure value too, movePlan in move_plan.go, which
// is recorded in the transactions that record what it rests on. A [MoveValidation]
// only asks whether they would.
package operations
