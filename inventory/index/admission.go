package index

import "errors"

// GroupState is the state of a resource group, which decides about writes into it. The
// numbers are stored.
type GroupState uint8

// The states of a resource group. Only an Active one admits clients' writes.
const (
	GroupActive GroupState = iota
	GroupDeleting
	GroupMoving
)

var groupStates = [...]string{"Active", "Deleting", "Moving"}

func (s GroupState) String() string { return NameOf(groupStates[:], int(s)) }

// ProvisioningState returns the state as clients see it.
func (s GroupState) ProvisioningState() string {
	switch s {
	case GroupDeleting:
		return "Deleting"
	case GroupMoving:
		return "MovingResources"
	case GroupActive:
	}
	return "Succeeded"
}

// ErrGroupNotFound refuses a write if its resource group does not exist, or is another
// incarnation than the write was meant for.
var ErrGroupNotFound = errors.New("inventory: the resource group does not exist")

// GroupStateError refuses a write into a group that is not Active.
type GroupStateError struct {
	State GroupState
}

func (e *GroupStateError) Error() string {
	return "inventory: the resource group is " + e.State.String()
}

// Group is the part of a group that decides about writes into it.
type Group struct {
	State       GroupState
	Incarnation [16]byte
}

// AdmitWrite returns an error unless the group, nil if there is none, admits a write. An
// Active group admits clients' writes, a Deleting one only writes of its own deletion. If
// incarnation is not zero, it has to be the group's.
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

// MayReopen reports whether a group may admit writes again after its deletion failed, given
// the number of open calls into it. There must be none: a late DELETE of the deletion could
// hit a resource that was created meanwhile (R8).
func MayReopen(open int) bool { return open == 0 }

// MayClose reports whether a group may be removed, given the numbers of rows, strays and
// calls that may still be running. All must be zero. Writes of unknown outcome do not count,
// because they leave a fence.
func MayClose(rows, strays, calls int) bool { return rows == 0 && strays == 0 && calls == 0 }

// Placement is the place of a resource, or the place that a write requests.
type Placement struct{ Region, Location string }

// Conflicts reports whether a write goes to another place than the row's. This applies to
// all kinds of writes, because a success in one region proves nothing about a row in
// another.
func Conflicts(kind WriteKind, to, row Placement) bool {
	return row.Region != to.Region ||
		kind == Put && to.Location != "" && row.Location != "" && row.Location != to.Location
}
