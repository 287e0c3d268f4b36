// Package move moves resources between groups (resource reference, Move Resource):
// it has each provider move what it holds, in one call per region.
//
// A [plan.Plan] decides what is next; it is recorded in the transactions that record what
// it rests on. An attempt carries out its tasks.
package move
