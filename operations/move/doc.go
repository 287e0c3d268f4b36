// Package move moves resources between groups (resource reference, Move Resource):
// it has each provider move what it holds, in one call per region.
//
// What an answer means, what is to be asked under which ID, and when a call may be sent
// again is decided by a pure value, the plan, which is recorded in the transactions that
// record what it rests on. An attempt carries out its tasks.
package move
