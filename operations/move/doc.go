// Package move moves resources between groups (resource reference, Move Resource):
// it has each provider move what it holds, in one call per region.
//
// No answer is believed: what a provider says it has moved changes its place in the index
// when Portico's own GETs have seen it at the new place, and no more at the old one.
//
// A [plan.Plan] decides what is next; it is recorded in the transactions that record what
// it rests on. An attempt carries out its tasks.
//
// Before each call the caller's roles are asked again: what was not sent yet stays, if the
// caller lost a right that the move needs. A call that has left is past that point: what
// its provider did is recorded, whatever the caller may do by then.
package move
