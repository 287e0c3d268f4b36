package index

// canonical gives worlds that differ in names alone one form: generations that
// nothing can equal any more are forgotten, writes that are over leave their
// slots, and regions, replicas and slots stand in a fixed order. It reports whether
// the regions have changed places.
func (w *world) canonical(m *model) (flipped bool) {
	w.release(m)
	w.rename(m)
	w.count()
	w.narrow()
	if flipped = w.leans(); flipped {
		w.flip()
	}
	if !m.reads && w.left.crashes == 0 {
		for i := range w.slots {
			w.slots[i].replica = 0
		}
	}
	w.order(m.reads)
	return flipped
}

// leans reports whether the second region carries more than the first. Nothing
// tells the regions apart but what is in them.
func (w *world) leans() bool {
	switch {
	case w.now.row:
		return w.now.region == 1
	case w.lost && w.before.row:
		return w.before.region == 1
	case w.provider[0] != w.provider[1]:
		return w.provider[0] < w.provider[1]
	}
	var weight [2]uint64
	for i := range w.slots {
		if s := w.slots[i]; s.use != idle {
			region := s.region
			s.region = 0
			weight[region] += s.rank() * 0x9E3779B97F4A7C15
		}
	}
	switch {
	case weight[0] != weight[1]:
		return weight[0] < weight[1]
	case w.sight.on:
		return w.sight.region == 1
	case w.read.on:
		return w.read.region == 1
	}
	return w.cache == [2]uint8{2, 2} || w.cache == [2]uint8{0, 2} || w.cache == [2]uint8{2, 0}
}

// flip gives each region the other's name.
func (w *world) flip() {
	w.provider[0], w.provider[1] = w.provider[1], w.provider[0]
	for i := range w.slots {
		if w.slots[i].placed() {
			w.slots[i].region ^= 1
		}
	}
	for _, b := range [...]*book{&w.now, &w.before} {
		if b.row {
			b.region ^= 1
		}
	}
	if w.sight.on {
		w.sight.region ^= 1
	}
	if w.read.on {
		w.read.region ^= 1
	}
	for r, known := range w.cache {
		if known > 0 {
			w.cache[r] = 3 - known
		}
	}
	w.reported.flip()
}

// release ends what can no longer be applied, and frees the slots of writes that
// are over.
func (w *world) release(m *model) {
	for i := range w.slots {
		s := &w.slots[i]
		if s.use == spent && !s.pending && !s.remembered() {
			*s = slot{}
		}
		if s.use != sent {
			continue
		}
		if s.away && s.left == 0 && !(s.waiting && m.unbounded(s)) {
			s.away = false
		}
		switch {
		case s.acts() || s.away || s.now.stands() || s.before.stands():
		case s.pending && m.reads:
			*s = slot{use: spent, kind: s.kind, region: s.region, pending: true}
		case s.remembered():
			*s = slot{use: spent, kind: s.kind, now: mark{started: s.now.started}, before: mark{started: s.before.started}}
		default:
			*s = slot{}
		}
	}
}

// narrow forgets parts of writes. Of one whose caller waits no more, no answer
// will be settled: how it stands to others does not matter then.
func (w *world) narrow() {
	for i := range w.slots {
		s := &w.slots[i]
		if s.use != sent {
			continue
		}
		if !s.acts() {
			s.replica = 0
			s.now, s.before = s.now.bare(), s.before.bare()
			s.running = s.running && (s.now.followed || w.provider[s.region].silent())
		}
		s.old = s.old && s.away
		if !s.placed() {
			s.region = 0
		}
	}
}

// bare is an intent as only time will end it.
func (in mark) bare() mark {
	return mark{open: in.open, left: in.left, ended: in.ended, fence: in.fence, followed: in.followed, started: in.started}
}

// stands reports whether the store knows of a write.
func (in mark) stands() bool { return in.open || in.fence }

// remembered reports whether the row remembers a write.
func (s *slot) remembered() bool { return s.now.started > 0 || s.before.started > 0 }

// acts reports whether a replica will do something about a write.
func (s *slot) acts() bool { return s.use == resolved || s.waiting || s.early }

// placed reports whether it matters where a write goes, or has gone. A PUT of unknown
// fate may become a fence, which asks there.
func (s *slot) placed() bool {
	return s.use == resolved || s.use == spent && s.pending || s.away || s.running || s.pending || s.bare || s.shows && s.answer.tells() ||
		s.kind == Put && (s.now.stands() || s.before.stands()) || s.clears
}

func (w *world) rename(m *model) {
	var now, before uint8
	if w.now.row {
		now = w.now.generation
	}
	if w.lost && w.before.row {
		before = w.before.generation
	}
	name := func(g *uint8) {
		switch {
		case *g == 0:
		case *g == now:
			*g = 1
		case *g == before:
			*g = 2
		default:
			*g = 0
		}
	}
	for i := range w.slots {
		for _, in := range [...]*mark{&w.slots[i].now, &w.slots[i].before} {
			if w.slots[i].kind == Delete {
				in.generation = 0 // it is not asked for
			}
			name(&in.generation)
		}
	}
	name(&w.get.generation)
	name(&w.now.generation)
	name(&w.before.generation)
	if w.get.generation == 0 && !m.off.anyGeneration {
		w.get = question{} // it could only be ignored
	}
}

// rank orders slots; it is all that they hold, but the replica.
func (s *slot) rank() uint64 {
	if s.use == idle {
		return 0
	}
	r := uint64(s.use)<<8 | uint64(s.kind)<<6 | uint64(s.region)<<5 | uint64(s.left)<<3 | uint64(s.answer)
	for _, b := range [...]bool{s.away, s.waiting, s.running, s.pending, s.old, s.own, s.bare, s.early, s.stale, s.forgot, s.clears} {
		r = r<<1 | bit(b)
	}
	return r<<26 | s.now.rank()<<13 | s.before.rank()
}

func (in *mark) rank() uint64 {
	if !in.stands() {
		return uint64(in.started) << 10
	}
	return uint64(in.started)<<10 | 512 | bit(in.ended)<<8 | bit(in.fence)<<7 | bit(in.followed)<<6 | bit(in.created)<<5 | bit(in.spoiled)<<4 | uint64(in.generation)<<2 | uint64(in.left)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// order swaps the replicas if the second carries more than the first, and sorts
// the slots. Where a history knows the slots they keep their places, and it
// matters which of them a replica has.
func (w *world) order(places bool) {
	if (places || w.left.crashes > 0) && w.lopsided(places) {
		w.swapReplicas()
	}
	if !places {
		w.sort()
	}
}

func (w *world) lopsided(places bool) bool {
	var weight [2]uint64
	for i := range w.slots {
		s := &w.slots[i]
		if !s.acts() {
			continue
		}
		n := s.rank()
		if places {
			n |= uint64(i+1) << 50
		}
		n *= 0x9E3779B97F4A7C15
		weight[s.replica] += n ^ n>>29
	}
	for r := range weight {
		weight[r] = weight[r]<<3 ^ uint64(w.cache[r])<<1
		if w.read.on && int(w.read.replica) == r {
			weight[r] ^= 1
		}
	}
	return weight[0] < weight[1]
}

func (w *world) swapReplicas() {
	w.cache[0], w.cache[1] = w.cache[1], w.cache[0]
	if w.read.on {
		w.read.replica ^= 1
	}
	for i := range w.slots {
		if w.slots[i].acts() {
			w.slots[i].replica ^= 1
		}
	}
}

func (w *world) sort() {
	var ranks [slots]uint64
	for i := range ranks {
		ranks[i] = w.slots[i].rank()<<1 | uint64(w.slots[i].replica)
		for j := i; j > 0 && ranks[j] > ranks[j-1]; j-- {
			ranks[j], ranks[j-1] = ranks[j-1], ranks[j]
			w.slots[j], w.slots[j-1] = w.slots[j-1], w.slots[j]
		}
	}
}
