package index

import "slices"

// Phase says what is known of a tracked resource. The numbers are stored.
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

// NeedsVerify reports whether a row proves nothing until its provider was asked.
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
	// FollowPatch: an accepted PATCH runs. That opposes nothing, and keeps no answer from
	// being proof: its end has the row asked for once more.
	FollowPatch bool
	Generation  [16]byte
}

// Intent is one write that may be on its way.
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
	// CallEnded: its call is over, and its fate is unknown.
	CallEnded bool
	// NotAfter is when its call is over at the latest, and Ends when the write can no
	// longer be applied, both in microseconds.
	NotAfter, Ends int64
}

// over reports whether nobody waits for the write's answer any more.
func (in Intent) over(now int64) bool { return in.Kind != Move && (in.CallEnded || in.NotAfter <= now) }

// The events that change a state.
type (
	// Intended says that a write is about to be sent.
	Intended struct {
		ID             [16]byte
		Kind           WriteKind
		NotAfter, Ends int64
	}
	// Answered says what became of a write.
	Answered struct {
		ID                [16]byte
		Outcome           Outcome
		Status            int
		ProvisioningState string
	}
	// Observed is what a GET said. Generation is the row's, read before asking.
	Observed struct {
		Generation        [16]byte
		Found             bool
		ProvisioningState string
	}
	// FollowEnded says that the operation of an accepted write is over.
	FollowEnded struct{ Kind WriteKind }
	// FollowLost says that nobody knows any more what became of the operation of an accepted
	// write. From then on it opposes others as a write without an answer does.
	FollowLost struct {
		ID   [16]byte
		Kind WriteKind
		Ends int64
	}
	// TimePassed is the present time.
	TimePassed struct{ Now int64 }
	// Seen says that a GET found a resource of which nothing is known.
	Seen struct{ ProvisioningState string }
)

// Actions are what an event asks for beyond the new state.
type Actions struct {
	// Settled: the event was proof, and the state says what it proved.
	Settled bool
	// Learn: the row takes over what the answer said of the resource.
	Learn bool
	// Tombstone: the resource is gone; a tombstone remembers that.
	Tombstone bool
	// Orphaned: the resource went, or may have gone and come back; those below it,
	// which do not come back with it, have to be verified.
	Orphaned bool
}

// UnderWay counts the open writes whose call may still be running. All others are of
// unknown fate, and delay no group's end.
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
