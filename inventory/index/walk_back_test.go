package index

// back gives the group back, when its delete cannot be completed or is called
// off. Of what the delete sent nothing may take effect from then on: clients
// write into the group again.
func (m *model) back(w *world) {
	if w.left.backs == 0 || w.now.group != deleting {
		return
	}
	after := *w
	if !w.quiet() { // time ends what it can
		after.turn(m, TimePassed{}, 0, true)
	}
	open := 0
	for i := range after.slots {
		if after.slots[i].now.open && !m.off.openBack {
			open++
		}
	}
	if !MayReopen(open) {
		return
	}
	after.left.backs--
	after.now.group = active
	for i := range after.slots {
		after.slots[i].old = after.slots[i].old || after.slots[i].own
	}
	m.take(after, "the group is given back", -1, false)
}
