package index

// history is what the clients were told, as far as it decides what they may be
// told next: every abstract state in which a resource that is written and read
// by one hand after the other could be now. It is a set of triples: where the
// resource is (0: nowhere, else the region plus one), what the read under way
// has seen (0: nothing yet, 1: that it is nowhere, else the region plus two),
// and which of the writes under way have taken effect, as a bit per slot. None
// left means that what was told is not linearizable.
type history [12]uint8

func historyOf(place int) (h history) {
	h[place*4] = 1
	return h
}

// flip gives each region the other's name.
func (h *history) flip() {
	*h = history{h[0], h[1], h[3], h[2], h[8], h[9], h[11], h[10], h[4], h[5], h[7], h[6]}
}

func (h *history) impossible() bool { return *h == history{} }

// without selects the sets of writes that slot is not in.
var without = [3]uint8{0b01010101, 0b00110011, 0b00001111}

// spread adds what may have taken effect since: writes under way, and the look
// of the read under way.
func (w *world) spread() {
	h := &w.reported
	for before := (history{}); before != *h; {
		before = *h
		for i := range without {
			s := &w.slots[i]
			if !s.pending {
				continue
			}
			for place := range 3 {
				effect, ok := s.effect(place)
				if !ok {
					continue
				}
				for seen := range 4 {
					h[effect*4+seen] |= h[place*4+seen] & without[i] << (1 << i)
				}
			}
		}
		if w.read.on {
			for place := range 3 {
				h[place*4+place+1] |= h[place*4]
			}
		}
	}
}

// effect is where a write leaves a resource that is at place.
func (s *slot) effect(place int) (int, bool) {
	switch s.kind {
	case Delete:
		return 0, true
	case Patch:
		return place, place == int(s.region)+1
	case Put:
	}
	return int(s.region) + 1, place == 0 || place == int(s.region)+1
}

// invoke begins a client's write.
func (w *world) invoke(m *model, i int) {
	if m.reads {
		w.slots[i].pending = true
		w.spread()
	}
}

// acknowledge tells the client of a write that it took effect, refuse that it
// did not.
func (w *world) acknowledge(i int) {
	if s := &w.slots[i]; s.pending {
		s.pending = false
		for n := range w.reported {
			w.reported[n] = w.reported[n] >> (1 << i) & without[i]
		}
	}
}

func (w *world) refuse(i int) {
	if s := &w.slots[i]; s.pending {
		s.pending = false
		for n := range w.reported {
			w.reported[n] &= without[i]
		}
	}
}

// claim tells a client that the resource is in region now.
func (w *world) claim(region uint8) {
	for n := range w.reported {
		if n/4 != int(region)+1 {
			w.reported[n] = 0
		}
	}
	w.spread()
}

// beginRead and endRead frame a client's read. seen is what it was told: of a
// HEAD not where.
func (w *world) beginRead(r reading) {
	w.read = r
	w.read.on = true
	w.spread()
}

func (w *world) endRead(present bool, region uint8) {
	head := w.read.head
	w.read = reading{}
	for place := range 3 {
		var kept uint8
		for seen := 1; seen < 4; seen++ {
			if (seen != 1) == present && (head || !present || seen == int(region)+2) {
				kept |= w.reported[place*4+seen]
			}
		}
		w.reported[place*4], w.reported[place*4+1], w.reported[place*4+2], w.reported[place*4+3] = kept, 0, 0, 0
	}
}

// breakRead ends a read whose client is told nothing.
func (w *world) breakRead() {
	if !w.read.on {
		return
	}
	w.read = reading{}
	for place := range 3 {
		for seen := 1; seen < 4; seen++ {
			w.reported[place*4] |= w.reported[place*4+seen]
			w.reported[place*4+seen] = 0
		}
	}
}
