package index

// fences are what a group has left behind that closed over calls whose fate is
// unknown. All that is done about them is flushed.
func (m *model) fences(w *world) {
	if w.lost {
		return
	}
	for i := range w.slots {
		s := &w.slots[i]
		if !s.now.fence {
			continue
		}
		found, _ := w.provider[s.region].shown()
		switch {
		case s.now.followed:
			if !s.running || w.provider[s.region] == nothingThere {
				m.unfence(w, i, "the delete under a fence is over")
			}
		case s.kind == Put && found && !m.off.fenceUnasked:
			m.deleteLate(w, i)
		case s.now.left > 0:
		case s.kind != Put, !found, m.off.fenceUnasked, m.off.fenceUnproven:
			m.unfence(w, i, "time ends a fence")
		}
		if s.kind == Put && s.now.left == 1 && m.off.fenceUnproven {
			m.unfence(w, i, "a fence goes without a last GET")
		}
	}
}

func (m *model) unfence(w *world, i int, text string) {
	after := *w
	after.clear(i)
	m.take(after, text, i, true)
}

// clear ends a fence. What a sweep saw before is not adopted after that.
func (w *world) clear(i int) {
	w.slots[i].now = mark{}
	w.sight.moot = w.sight.on
}

// deleteLate deletes what has landed under a fence, unless a delete of it is under
// way already.
func (m *model) deleteLate(w *world, fence int) {
	at := -1
	for i := range w.slots {
		s := &w.slots[i]
		switch {
		case s.use == idle && at < 0:
			at = i
		case s.clears && s.now.fence && s.region == w.slots[fence].region:
			return
		}
	}
	if at < 0 {
		return
	}
	for replica := range m.replicas(w) {
		after := *w
		after.slots[at] = slot{
			use: sent, kind: Delete, region: w.slots[fence].region, replica: replica, own: true, clears: true,
			left: late, away: true, waiting: true, now: mark{fence: true, left: late},
		}
		m.take(after, "what has landed under a fence is deleted", at, true)
	}
}

// settledFence is the answer to a write over which the group has closed, or that
// was sent under a fence.
func (m *model) settledFence(w *world, after world, i int, answer answerIs, text string) {
	if w.lost {
		return
	}
	if s := &after.slots[i]; s.clears {
		switch answer {
		case noAnswer:
		case accepted202:
			s.now.followed = true
		case succeeded, unfinished, goneAnswer, refused400, refused409, noRoute404:
			after.clear(i)
		}
	}
	m.take(after, text, i, true)
}
