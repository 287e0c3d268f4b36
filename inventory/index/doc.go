// Package index is the rule by which the index changes: the new state that each event
// gives a resource. [Settle] is pure; gateway and jobs share it. The rest of the
// package says which writes a group admits, and when it may close or reopen. It knows
// neither a table nor a request: package inventory loads a [State] and stores the new
// one. Package inventory numbers the rules.
//
// The walk in the package's tests explores everything that can happen to one
// resource in two regions behind two replicas, over these functions.
package index
