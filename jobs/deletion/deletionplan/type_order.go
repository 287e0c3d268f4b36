package deletionplan

import "portico/inventory"

// orderTypes adds an order, unless it contradicts the known ones: the types of both would wait
// for each other.
func (p *Queue) orderTypes(o inventory.TypeOrder) (added bool) {
	if p.before[o.After][o.Before] || p.goesBefore(o.After, o.Before) {
		return false
	}
	if p.before[o.After] == nil {
		p.before[o.After] = map[string]bool{}
	}
	p.before[o.After][o.Before] = true
	return true
}

// goesBefore reports whether a type is known to go before another, or is the same.
func (p *Queue) goesBefore(typ, other string) bool {
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
		for before := range p.before[from] {
			if reaches(before) {
				return true
			}
		}
		return false
	}
	return reaches(other)
}

// learn keeps the order that a refusal shows, as a hint for later deletions and the
// rest of this one. A hint holds no resource back for ever.
func (p *Queue) learn(o inventory.TypeOrder) {
	if p.orderTypes(o) {
		p.Learnt = append(p.Learnt, o)
	}
}

// learnFromSuccess learns from a resource that was refused without a reason and goes now,
// if only resources of one other type have gone in between.
func (p *Queue) learnFromSuccess(m *Resource) {
	if !m.Blind || m.State != InFlight && m.State != Accepted {
		return
	}
	other := ""
	for _, typ := range p.gone[min(m.RefusedAt, len(p.gone)):min(m.Tried, len(p.gone))] {
		switch {
		case typ == "":
			return
		case typ == m.Type || typ == other:
		case other == "":
			other = typ
		default:
			return
		}
	}
	if other != "" {
		p.learn(inventory.TypeOrder{Before: other, After: m.Type})
	}
}
