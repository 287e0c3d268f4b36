// Package groupdelete deletes what a resource group holds, and then the group.
//
// Which resource is next, and what a refusal of one means for the others, is decided
// by a [plan.Plan]. An attempt drives it: it makes the calls, each an intent in the
// inventory like a client's write. Another replica can take the deletion over at any
// point, as rows, strays and intents alone say what is left.
package groupdelete
