// Package groupdelete deletes what a resource group holds, and then the group.
//
// Which resource is next, and what a refusal of one means for the others, is decided
// by a [plan.Plan]. An attempt drives it: it makes the calls, each an intent in the
// inventory like a client's write. Another replica can take the deletion over at any
// point, as rows, strays and intents alone say what is left.
//
// Who may delete the group may have it deleted with all that it holds, as in ARM: no
// right to a single resource is asked for, and the deletion goes on when its caller loses
// the right. It was accepted as a whole, half a group is of use to nobody, and what it
// holds was closed to writes from the beginning.
package groupdelete
