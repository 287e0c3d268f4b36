package index

import "slices"

// Phase is what the index knows of a tracked resource. The numbers are stored.
type Phase uint8

// The phases of a row. Every one routes and counts for quota; Live and
// Deleting are shown to clients.
const (
	// Pending: a create was sent, nothing is known.
	Pending Phase = iota
	// Live: the resource was seen.
	Live
	// Deleting: a delete was accepted and is being followed.
	Deleting
)

var phases = [...]string{"Pending", "Live", "Deleting"}

func (p Phase) String() string { return NameOf(phases[:], int(p)) }

// NeedsVerify reports whether a row proves nothing until Portico has asked its
// provider.
func NeedsVerify(phase Phase, verify bool) bool { return phase != Live || verify }

// State is what is known of one resource: its row, and the writes that may
// still be on their way.
//
// While a PUT is open there is a row: a PUT's intent makes one, and nothing
// removes it while that PUT is open, but the same PUT's refusal. A Pending row
// that is not flagged therefore has an open PUT or a followed one.
type State struct {
	Row  *Row // nil: none
	Open []Intent
}

// Row is the part of a row that events change.
type Row struct {
	Phase                   Phase
	Verify                  bool
	FollowPut, FollowDelete bool
	// FollowPatch: an accepted PATCH runs. It opposes nothing, and keeps no answer from
	// being proof; its end flags the row for another GET.
	FollowPatch bool
	Generation  [16]byte
}

// Intent is a write that may still be on its way.
type Intent struct {
	ID   [16]byte
	Kind WriteKind
	// Generation is the one that recording the intent gave the row.
	Generation [16]byte
	// CreatedRow: there was no row before it.
	CreatedRow bool
	// Overlapped: a write that opposes it was open, or its operation followed, at some
	// time while this one was open.
	Overlapped bool
	// CallEnded: its call is over, and its outcome is unknown.
	CallEnded bool
	// NotAfter is when its call is over at the latest, and Ends when the write can no
	// longer be applied, both in microseconds.
	NotAfter, Ends int64
}

// over reports whether no caller waits for the write's answer any more.
func (in Intent) over(now int64) bool { return in.Kind != Move && (in.CallEnded || in.NotAfter <= now) }

// The events that change a state.
type (
	// Intended says that a write is about to be sent.
	Intended struct {
		ID             [16]byte
		Kind           WriteKind
		NotAfter, Ends int64
	}
	// Answered is the answer to a write.
	Answered struct {
		ID                [16]byte
		Outcome           Outcome
		Status            int
		ProvisioningState string
	}
	// Observed is the answer to a GET. Generation is the row's, read before the call.
	Observed struct {
		Generation        [16]byte
		Found             bool
		ProvisioningState string
	}
	// FollowEnded says that the operation of an accepted write is over.
	FollowEnded struct{ Kind WriteKind }
	// FollowLost says that the outcome of an accepted write's operation can no longer be
	// learnt. From then on the operation opposes others like a write without an answer.
	FollowLost struct {
		ID   [16]byte
		Kind WriteKind
		Ends int64
	}
	// TimePassed is the present time.
	TimePassed struct{ Now int64 }
	// Seen says that a GET found a resource that the index does not know.
	Seen struct{ ProvisioningState string }
)

// Actions are the effects of an event beyond the new state.
type Actions struct {
	// Settled: the event was proof, and the state says what it proved.
	Settled bool
	// Learn: the row takes over the resource's details from the answer.
	Learn bool
	// Tombstone: the resource is gone, and a tombstone records that.
	Tombstone bool
	// Orphaned: the resource went, or may have gone and come back; those below it,
	// which do not come back with it, have to be verified.
	Orphaned bool
}

// UnderWay counts the open writes whose call may still be running. All others have an
// unknown outcome, and delay no group's end.
func (s State) UnderWay(now int64) (n int) {
	for _, in := range s.Open {
		if !in.over(now) {
			n++
		}
	}
	return n
}

// Absent reports whether the row's resource does not exist: Portico's own GET said so
// of this generation, and no followed create can make it untrue.
func (s State) Absent(generation [16]byte) bool {
	return s.Row.Generation == generation && !s.Row.FollowPut
}

// RemovalOpen reports whether a DELETE or a move of the resource is open.
func (s State) RemovalOpen() bool {
	return slices.ContainsFunc(s.Open, func(in Intent) bool { return in.Kind.removes() })
}
