package groupdelete

// typeOrder says that the resources of one type go before those of another.
type typeOrder struct{ Before, After string }

// orderTypes adds to what is known, unless that says the contrary: an order
// that contradicts itself would order nothing.
func (d *plan) orderTypes(o typeOrder) (added bool) {
	if d.before[o.After][o.Before] || d.goesBefore(o.After, o.Before) {
		return false
	}
	if d.before[o.After] == nil {
		d.before[o.After] = map[string]bool{}
	}
	d.before[o.After][o.Before] = true
	return true
}

// goesBefore reports whether a type is known to go before another, or is the same.
func (d *plan) goesBefore(typ, other string) bool {
	seen := map[string]bool{}
	var reaches func(string) bool
	reaches = func(from string) bool {
		if from == typ {
			return true
		}
		if seen[from] {
			return false
		}
		seen[from] = true
		for before := range d.before[from] {
			if reaches(before) {
				return true
			}
		}
		return false
	}
	return reaches(other)
}

// learn keeps what a refusal shows, as a hint for later deletions and the rest of this
// one: it holds no resource back for ever.
func (d *plan) learn(o typeOrder) {
	if d.orderTypes(o) {
		d.learnt = append(d.learnt, o)
	}
}

// learnFromSuccess learns from a member that goes after it was refused without a
// reason, if only resources of one other type have gone between.
func (d *plan) learnFromSuccess(m *member) {
	if !m.blind || m.state != memberInFlight && m.state != memberAccepted {
		return
	}
	other := ""
	for _, typ := range d.went[min(m.refusedAt, len(d.went)):min(m.tried, len(d.went))] {
		switch {
		case typ == "":
			return
		case typ == m.typ || typ == other:
		case other == "":
			other = typ
		default:
			return
		}
	}
	if other != "" {
		d.learn(typeOrder{Before: other, After: m.typ})
	}
}
