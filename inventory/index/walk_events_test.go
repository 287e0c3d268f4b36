package index

import (
	"slices"
	"strings"

	"portico/events"
)

// record tells of what an event has made of the row that it found, as the store does, and
// remembers the writes of which nothing tells yet how they ended.
func (w *world) record(m *model, found State, event any, after State, did Actions) {
	switch e := event.(type) {
	case Intended:
		if after.Row != nil {
			w.slots[e.ID[0]-1].now.started = w.lastStarted() + 1
			w.count()
		}
	case Answered:
		i := e.ID[0] - 1
		kind := w.slots[i].kind
		follows := e.Continues(kind) && slices.ContainsFunc(found.Open, func(in Intent) bool { return in.ID == e.ID && in.Ends > 0 })
		w.replay(m, EventOfAnswer(kind, e, did.Settled, follows))
		if did.Settled && !follows && e.Outcome != Accepted {
			w.slots[i].now.started = 0
		}
	case Observed:
		if did.Settled {
			w.replay(m, EventsOfGet(found.Row, after.Row, e.ProvisioningState, w.endStarted(after))...)
		}
	case Discovered:
		w.now.exists = w.now.exists || did.Settled
	}
}

// replay makes of events what their readers make of them.
func (w *world) replay(m *model, reported ...events.Payload) {
	for _, t := range reported {
		t.Gone = t.Gone && !m.off.goneEvents
		t.Action = "Contoso.Compute/virtualMachines/" + strings.TrimPrefix(t.Action, "/")
		if exists, known := (events.Event{Payload: t}).Exists(); known {
			w.now.exists = exists
		}
	}
}

func (w *world) lastStarted() (last uint8) {
	for i := range w.slots {
		last = max(last, w.slots[i].now.started)
	}
	return last
}

// endStarted forgets the writes that a GET has shown the end of, and returns their kinds.
func (w *world) endStarted(after State) (kinds []WriteKind) {
	for nth := uint8(1); nth <= slots; nth++ {
		for i := range w.slots {
			if in := &w.slots[i].now; in.started == nth && !after.MayRun(idOf(i), w.slots[i].kind) {
				in.started = 0
				kinds = append(kinds, w.slots[i].kind)
			}
		}
	}
	return kinds
}

// count gives the writes that are remembered the least numbers that keep their order.
func (w *world) count() {
	for _, of := range [...]func(*slot) *mark{func(s *slot) *mark { return &s.now }, func(s *slot) *mark { return &s.before }} {
		var next uint8
		for nth := uint8(1); nth <= slots+1; nth++ {
			for i := range w.slots {
				if in := of(&w.slots[i]); in.started == nth {
					next++
					in.started = next
				}
			}
		}
	}
}
