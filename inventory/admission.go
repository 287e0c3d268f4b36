package inventory

import "errors"

// GroupState tells what may be done in a group. The numbers are stored.
type GroupState uint8

// The states of a resource group; only an Active one takes writes.
const (
	GroupActive GroupState = iota
	GroupDeleting
	GroupMoving
)

var groupStates = [...]string{"Active", "Deleting", "Moving"}

func (s GroupState) String() string { return nameOf(groupStates[:], int(s)) }

// ErrGroupNotFound refuses a write whose resource group does not exist, or
// is no longer the incarnation that the write was meant for.
var ErrGroupNotFound = errors.New("inventory: the resource group does not exist")

// GroupStateError refuses a write into a group that is not Active.
type GroupStateError struct {
	State GroupState
}

func (e *GroupStateError) Error() string {
	return "inventory: the resource group is " + e.State.String()
}

// groupState is what of a group decides about the writes into it.
type groupState struct {
	state       GroupState
	incarnation [16]byte
}

// admitWrite judges a write by the group that it goes into, nil where there is
// none: an Active group takes clients' writes, a Deleting one those of its own
// deletion, and both only those that are meant for this incarnation, if for any.
func admitWrite(into *groupState, incarnation [16]byte, ofGroupDelete bool) error {
	takes := GroupActive
	if ofGroupDelete {
		takes = GroupDeleting
	}
	switch {
	case into == nil || incarnation != [16]byte{} && incarnation != into.incarnation:
		return ErrGroupNotFound
	case into.state != takes:
		return &GroupStateError{State: into.state}
	}
	return nil
}

// mayReopen reports whether a group whose deletion has come to nothing takes
// writes again, while so many calls into it are open. None may be: one of the
// deletion's own that landed later could hit what was made meanwhile (R8).
func mayReopen(open int) bool { return open == 0 }

// mayClose reports whether a group may go in which so many rows, strays and calls
// that may still be running are left. None may outlive it. What is only of unknown
// fate leaves a fence.
func mayClose(rows, strays, calls int) bool { return rows == 0 && strays == 0 && calls == 0 }

// placement is where a resource is, or is to be.
type placement struct{ region, location string }

// conflicts reports whether a write goes elsewhere than where the row lies. All
// writes are held to it: the success of one in one region says nothing of a row
// that speaks of another.
func conflicts(kind WriteKind, to, row placement) bool {
	return row.region != to.region ||
		kind == Put && to.location != "" && row.location != "" && row.location != to.location
}
