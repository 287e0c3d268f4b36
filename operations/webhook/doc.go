// Package webhook delivers events to the sinks of the configuration: at least once, and
// those of one resource one after another, in the order of their numbers.
//
// Each sink has one job, whose holder reads the outbox behind a cursor. An event that is
// not taken holds up its resource alone: it becomes a row beside the cursor, as do those
// that come behind it, and the cursor goes on. Rows are bounded; where there is no room
// for more, the cursor waits, and nothing is lost.
//
// A receiver that fails for several resources in a row, or cannot be reached, is away:
// nothing is counted against events then, it is asked now and then by one of them, and
// everything goes on when it takes one. Only while a receiver takes others an event is
// given up, and becomes a dead letter.
//
// An operator may have an event tried, or given up, at once: by an order that the holder
// takes between two messages, and answers as it records what came of it ([Deliverer.Order]).
//
// [queue] is what is on its way, [delivery] moves it, [receiver] sends it, and [Deliverer]
// is the kind of the jobs.
package webhook
