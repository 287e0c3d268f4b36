// Package events says what changed, who changed it, and by which request: what the
// activity log, the change feed and the history of a resource are made of.
//
// An [Event] is recorded in the transaction that records the change itself. Its
// [Cause] comes with the context of whatever acts: a client's request, or durable work
// that goes on for one.
package events
