package index

import "slices"

// Phase is the state of a tracked resource as the index knows it. The numbers are stored.
type Phase uint8

// The phases of a row. A row of any phase routes requests and counts for quotas; Live and
// Deleting ones are shown to clients.
const (
	// Pending: a create was sent, and its outcome is unknown.
	Pending Phase = iota
	// Live: the resource was seen.
	Live
	// Deleting: a delete was accepted and is being followed.
	Deleting
)

var phases = [...]string{"Pending", "Live", "Deleting"}

func (p Phase) String() string { return NameOf(phases[:], int(p)) }

// NeedsVerify reports whether a row proves nothing until Portico has asked the provider.
func NeedsVerify(phase Phase, verify bool) bool { return phase != Live || verify }

// State is the known state of one resource: its row, and the writes that may still be
// running.
//
// While a PUT is open there is a row: a PUT's intent creates one, and until the PUT ends
// only its own refusal removes the row. A Pending row that is not flagged therefore has an
// open or a followed PUT.
type State struct {
	Row  *Row // nil: none
	Open []Intent
}

// Row is the part of a row that events change.
type Row struct {
	Phase                   Phase
	Verify                  bool
	FollowPut, FollowDelete bool
	// FollowPatch: an accepted PATCH runs. It opposes no write and does not affect whether
	// an answer is proof; its end flags the row for another GET.
	FollowPatch bool
	Generation  [16]byte
}

// Intent is a write that may still be running.
type Intent struct {
	ID   [16]byte
	Kind WriteKind
	// Generation is the generation that the intent gave the row.
	Generation [16]byte
	// CreatedRow: the intent created the row.
	CreatedRow bool
	// Overlapped: while this write was open, another one that opposes it was open, or its
	// operation was followed.
	Overlapped bool
	// CallEnded: the call has ended, and the write's outcome is unknown.
	CallEnded bool
	// NotAfter is when the call ends at the latest, and Ends when the provider can no
	// longer apply the write, both in microseconds.
	NotAfter, Ends int64
}

// callOver reports whether no caller waits for the write's answer any longer.
func (in Intent) callOver(now int64) bool {
	return in.Kind != Move && (in.CallEnded || in.NotAfter <= now)
}

// The events that change a state.
type (
	// Intended means that a write is about to be sent.
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
	// Observed is the answer to a GET. Generation is the row's generation before the call.
	Observed struct {
		Generation        [16]byte
		Found             bool
		ProvisioningState string
	}
	// FollowEnded means that the operation of an accepted write has ended.
	FollowEnded struct{ Kind WriteKind }
	// FollowLost means that the outcome of an accepted write's operation can no longer be
	// learned. From then on the operation opposes others like a write without an answer.
	FollowLost struct {
		ID   [16]byte
		Kind WriteKind
		Ends int64
	}
	// TimePassed reports the present time, in microseconds.
	TimePassed struct{ Now int64 }
	// Discovered means that a GET found a resource that the index does not know.
	Discovered struct{ ProvisioningState string }
)

// Actions are the effects of an event beyond the new state.
type Actions struct {
	// Settled: the event was proof, and the new state shows what it proved.
	Settled bool
	// Learn: the row gets the resource's details from the answer.
	Learn bool
	// Tombstone: a tombstone has to record that the resource is gone or may be.
	Tombstone bool
	// Orphaned: the resource was deleted, or may have been deleted and created again. The
	// resources below it, which are then gone, have to be verified.
	Orphaned bool
}

// UnderWay counts the open writes whose call may still be running. The others have an
// unknown outcome, and do not delay the end of a group.
func (s State) UnderWay(now int64) (n int) {
	for _, in := range s.Open {
		if !in.callOver(now) {
			n++
		}
	}
	return n
}

// Absent reports whether the row's resource does not exist, given the generation at which
// Portico's own GET found nothing: it is still the row's, and no followed PUT can create the
// resource.
func (s State) Absent(generation [16]byte) bool {
	return s.Row.Generation == generation && !s.Row.FollowPut
}

// RemovalOpen reports whether a DELETE or a move of the resource is open.
func (s State) RemovalOpen() bool {
	return slices.ContainsFunc(s.Open, func(in Intent) bool { return in.Kind.removes() })
}
