package inventory

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

func (p Phase) String() string { return nameOf(phases[:], int(p)) }

// needsVerify reports whether a row proves nothing until its provider was asked.
func needsVerify(phase Phase, verify bool) bool { return phase != Live || verify }

// state is what is known of one resource: its row, and the writes that may
// still be on their way.
//
// While a PUT is open there is a row: a PUT's intent makes one, and nothing
// removes it while that PUT is open, but the same PUT's refusal. A Pending row
// that is not flagged therefore has an open PUT or a followed one.
type state struct {
	row  *standing // nil: none
	open []intent
}

// standing is the part of a row that events change.
type standing struct {
	phase                   Phase
	verify                  bool
	followPut, followDelete bool
	generation              [16]byte
}

// intent is one write that may be on its way.
type intent struct {
	id   [16]byte
	kind WriteKind
	// generation is the one that recording the intent gave the row.
	generation [16]byte
	// createdRow: there was no row before it.
	createdRow bool
	// overlapped: a write that opposes it was open, or its operation followed, at some
	// time while this one was open.
	overlapped bool
	// callEnded: its call is over, and its fate is unknown.
	callEnded bool
	// notAfter is when its call is over at the latest, and ends when the write can no
	// longer be applied, both in microseconds.
	notAfter, ends int64
}

// over tells whether nobody waits for the write's answer any more.
func (in intent) over(now int64) bool { return in.kind != Move && (in.callEnded || in.notAfter <= now) }

// The events that change a state.
type (
	// intended: a write is about to be sent.
	intended struct {
		id             [16]byte
		kind           WriteKind
		notAfter, ends int64
	}
	// answered: what became of a write.
	answered struct {
		id                [16]byte
		outcome           Outcome
		status            int
		provisioningState string
	}
	// observed: what a GET said. generation is the row's, read before asking.
	observed struct {
		generation        [16]byte
		found             bool
		provisioningState string
	}
	// followEnded: the operation of an accepted write is over.
	followEnded struct{ kind WriteKind }
	// followLost: nobody can say any more what became of the operation of an accepted
	// write. From then on it opposes others as a write without an answer does.
	followLost struct {
		id   [16]byte
		kind WriteKind
		ends int64
	}
	// timePassed: time has.
	timePassed struct{ now int64 }
	// seen: a GET found a resource of which nothing is known.
	seen struct{ provisioningState string }
)

// actions is what an event asks for beyond the new state.
type actions struct {
	// settled: the event was proof, and the state says what it proved.
	settled bool
	// learn: take over what the answer told of the resource.
	learn bool
	// tombstone: remember that the resource went.
	tombstone bool
	// orphaned: the resource went, or may have gone and come back; those below
	// it, which do not come back with it, have to be verified.
	orphaned bool
}

// underWay counts the open writes whose call may still be running. All others are
// of unknown fate, and hold no group back.
func (s state) underWay(now int64) (n int) {
	for _, in := range s.open {
		if !in.over(now) {
			n++
		}
	}
	return n
}

// absent reports whether a row is of a resource that is not there: Portico's own GET
// said so of this generation, and no followed create can make it untrue.
func (s state) absent(generation [16]byte) bool {
	return s.row.generation == generation && !s.row.followPut
}

// removalOpen reports whether a DELETE or a move of the resource is open.
func (s state) removalOpen() bool {
	return slices.ContainsFunc(s.open, func(in intent) bool { return in.kind.removes() })
}
