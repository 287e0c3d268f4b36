package index

import "errors"

// GroupState says what may be done in a group. The numbers are stored.
type GroupState uint8

// The states of a resource group; only an Active one takes writes.
const (
	GroupActive GroupState = iota
	GroupDeleting
	GroupMoving
)

var groupStates = [...]string{"Active", "Deleting", "Moving"}

func (s GroupState) String() string { return NameOf(groupStates[:], int(s)) }

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

// Group is what of a group decides about the writes into it.
type Group struct {
	State       GroupState
	Incarnation [16]byte
}

// AdmitWrite judges a write by the group that it goes into, nil where there is
// none: an Active group takes clients' writes, a Deleting one those of its own
// deletion, and both only those that are meant for this incarnation, if for any.
func AdmitWrite(into *Group, incarnation [16]byte, ofGroupDelete bool) error {
	takes := GroupActive
	if ofGroupDelete {
		takes = GroupDeleting
	}
	switch {
	case into == nil || incarnation != [16]byte{} && incarnation != into.Incarnation:
		return ErrGroupNotFound
	case into.State != takes:
		return &GroupStateError{State: into.State}
	}
	return nil
}

// MayReopen reports whether a group whose deletion has come to nothing takes
// writes again, while so many calls into it are open. None may be: one of the
// deletion's own that landed later could hit what was made meanwhile (R8).
func MayReopen(open int) bool { return open == 0 }

// MayClose reports whether a group may go in which so many rows, strays and calls
// that may still be running are left. None may outlive it. What is only of unknown
// fate leaves a fence.
func MayClose(rows, strays, calls int) bool { return rows == 0 && strays == 0 && calls == 0 }

// Placement is where a resource is, or is to be.
type Placement struct{ Region, Location string }

// Conflicts reports whether a write goes elsewhere than where the row lies. All
// writes are held to it: the success of one in one region says nothing of a row
// that speaks of another.
func Conflicts(kind WriteKind, to, row Placement) bool {
	return row.Region != to.Region ||
		kind == Put && to.Location != "" && row.Location != "" && row.Location != to.Location
}
