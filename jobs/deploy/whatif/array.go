package whatif

import (
	"strconv"

	"portico/arm"
	"portico/template/expr"
)

// row has the values of one element in the template, in the record and at the provider.
type row struct {
	sides
	at int // its index in the template; if it is removed, its index in the current or the sent array
}

// array compares arrays whose order the provider may have changed. name is the name of their
// member.
func (d *differ) array(name string, s sides) {
	rows := d.align
	if !d.recorded {
		rows = d.alignUnsent
	}
	for _, r := range rows(name, s) {
		element := d.inner()
		element.value("", name, r.sides, true)
		path := strconv.Itoa(r.at)
		if len(element.found) == 1 && element.found[0].Path == "" { // the element itself
			element.found[0].Path = path
			d.found = append(d.found, element.found[0])
			continue
		}
		d.nest(path, PropertyModify, element.found)
	}
}

// alignUnsent pairs the template's elements with current ones, for an array without a record. The
// other current elements follow.
func (d *differ) alignUnsent(name string, s sides) (rows []row) {
	planned, now := s.planned.Elements(), s.now.Elements()
	nowOf := d.pair(name, planned, now)
	used := make([]bool, len(now))
	for i := range planned {
		n := useElement(now, nowOf[i], used)
		rows = append(rows, row{sides{s.planned.Element(i), n, n, n}, i})
	}
	return append(rows, unused(now, used)...)
}

// align follows each element from the template to the one that was sent, to the provider's
// response, and to the current one. Elements that were sent but are no longer in the template
// follow, and then current ones that came from neither the template nor the provider.
func (d *differ) align(name string, s sides) (rows []row) {
	planned, sent, answered, now := s.planned.Elements(), s.sent.Elements(), s.answered.Elements(), s.now.Elements()
	sentOf, answeredOf, nowOf := d.pair(name, planned, sent), d.pair(name, sent, answered), d.pair(name, answered, now)
	usedSent, usedAnswered, usedNow := make([]bool, len(sent)), make([]bool, len(answered)), make([]bool, len(now))
	follow := func(r row, at int) row {
		r.sent = useElement(sent, at, usedSent)
		if at = next(answeredOf, at); at >= 0 {
			r.answered = useElement(answered, at, usedAnswered)
		}
		if at = next(nowOf, at); at >= 0 {
			r.now = useElement(now, at, usedNow)
		}
		return r
	}
	for i := range planned {
		rows = append(rows, follow(row{sides{planned: s.planned.Element(i)}, i}, sentOf[i]))
	}
	for i := range sent {
		if !usedSent[i] {
			rows = append(rows, follow(row{at: i}, i))
		}
	}
	for _, at := range nowOf { // elements that the provider added stay
		useElement(now, at, usedNow)
	}
	return d.adopt(name, rows, unused(now, usedNow))
}

// adopt pairs elements that others added with equal ones of the template that have no current
// element; the rest follow the rows.
func (d *differ) adopt(name string, rows, added []row) []row {
	var lacking []int
	var want, have []expr.Value
	for i, r := range rows {
		if !r.planned.Is(expr.Null) && r.now.Is(expr.Null) && (r.sent.Is(expr.Null) || !r.answered.Is(expr.Null)) {
			lacking, want = append(lacking, i), append(want, r.planned)
		}
	}
	for _, r := range added {
		have = append(have, r.now)
	}
	used := make([]bool, len(added))
	for i, at := range d.pair(name, want, have) {
		if at >= 0 && d.covers(name, want[i], have[at]) {
			rows[lacking[i]].now = useElement(have, at, used)
		}
	}
	for i, r := range added {
		if !used[i] {
			rows = append(rows, r)
		}
	}
	return rows
}

// useElement returns the element at an index and marks it as used; null for the index -1.
func useElement(of []expr.Value, at int, used []bool) expr.Value {
	if at < 0 {
		return expr.Value{}
	}
	used[at] = true
	return of[at]
}

func next(of []int, at int) int {
	if at < 0 {
		return -1
	}
	return of[at]
}

// unused returns rows for the current elements that no row has.
func unused(now []expr.Value, used []bool) (rows []row) {
	for i, n := range now {
		if !used[i] {
			rows = append(rows, row{sides{now: n}, i})
		}
	}
	return rows
}

// pair returns for each element of from the index of its partner in to, or -1. The partner has
// the same name or ID; without these, the same text, or covers the element, or is the next in
// order. No index occurs twice. Elements with different names are never partners.
func (d *differ) pair(name string, from, to []expr.Value) []int {
	indexes := map[string][]int{}
	for i, e := range to {
		for _, key := range keysOf(e) {
			indexes[key] = append(indexes[key], i)
		}
	}
	p := pairing{of: make([]int, len(from)), used: make([]bool, len(to))}
	for i, e := range from {
		p.of[i] = -1
		for _, key := range keysOf(e) {
			p.first(i, indexes[key], func(int) bool { return true })
		}
	}
	var rest []int
	for at := range to {
		if !p.used[at] {
			rest = append(rest, at)
		}
	}
	for i, e := range from {
		p.first(i, rest, func(at int) bool { return !d.spent() && !bothNamed(e, to[at]) && d.covers(name, e, to[at]) })
	}
	for i, e := range from {
		for len(rest) > 0 && p.used[rest[0]] {
			rest = rest[1:]
		}
		p.first(i, rest[:min(len(rest), 1)], func(at int) bool { return !bothNamed(e, to[at]) })
	}
	return p.of
}

// pairing has the partners of elements in another array.
type pairing struct {
	of   []int
	used []bool
}

// first pairs an element that has no partner with the first free one that fits.
func (p *pairing) first(i int, candidates []int, fits func(at int) bool) {
	for _, at := range candidates {
		if p.of[i] >= 0 {
			return
		}
		if !p.used[at] && fits(at) {
			p.of[i], p.used[at] = at, true
		}
	}
}

// keysOf returns the keys that find an element: its name and its ID, else all of it.
func keysOf(e expr.Value) (keys []string) {
	for _, name := range []string{"name", "id"} {
		if m, found := e.Member(name); found && m.Is(expr.String) {
			keys = append(keys, name+" "+arm.Fold(m.Text()))
		}
	}
	if keys == nil {
		keys = []string{e.JSON()}
	}
	return keys
}

// bothNamed reports whether two elements have names of the same kind: they were paired by
// these, or not at all.
func bothNamed(a, b expr.Value) bool {
	for _, name := range []string{"name", "id"} {
		of, _ := a.Member(name)
		other, _ := b.Member(name)
		if of.Is(expr.String) && other.Is(expr.String) {
			return true
		}
	}
	return false
}
