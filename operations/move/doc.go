// Package move moves resources between groups (resource reference, Move Resource):
// it has each provider move what it holds, in one call per region.
//
// A [plan.Plan] decides what is next; it is recorded in the transactions that record what
// it rests on. An attempt carries out its tasks.
//
// Before each call the caller's roles are asked again: what was not sent yet stays, if the
// caller lost a right that the move needs. A call that has left is past that point: what
// its provider did is recorded, whatever the caller may do by then.
package move
