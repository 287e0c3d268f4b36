package whatif

import (
	"strconv"

	"portico/arm"
	"portico/template/expr"
)

// row is an element as the template, the record and the provider have it.
type row struct {
	sides
	at int // its index in the template; of one that goes in what stands, or what was sent
}

// array compares two arrays, in whatever order the provider keeps them. name is their
// member's.
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

// alignUnsent finds what stands of each element that the template names; what it does not
// name follows.
func (d *differ) alignUnsent(name string, s sides) (rows []row) {
	planned, now := s.planned.Elements(), s.now.Elements()
	nowOf := d.pair(name, planned, now)
	used := make([]bool, len(now))
	for i := range planned {
		n := take(now, nowOf[i], used)
		rows = append(rows, row{sides{s.planned.Element(i), n, n, n}, i})
	}
	return append(rows, unused(now, used)...)
}

// align follows each element from the template to what was sent of it, to what the provider
// made of that, and to what stands. What was sent and is named no longer follows, and then
// what neither the template nor the provider has added.
func (d *differ) align(name string, s sides) (rows []row) {
	planned, sent, answered, now := s.planned.Elements(), s.sent.Elements(), s.answered.Elements(), s.now.Elements()
	sentOf, answeredOf, nowOf := d.pair(name, planned, sent), d.pair(name, sent, answered), d.pair(name, answered, now)
	usedSent, usedAnswered, usedNow := make([]bool, len(sent)), make([]bool, len(answered)), make([]bool, len(now))
	follow := func(r row, at int) row {
		r.sent = take(sent, at, usedSent)
		if at = next(answeredOf, at); at >= 0 {
			r.answered = take(answered, at, usedAnswered)
		}
		if at = next(nowOf, at); at >= 0 {
			r.now = take(now, at, usedNow)
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
	for _, at := range nowOf { // what the provider has added of its own stays
		take(now, at, usedNow)
	}
	return d.adopt(name, rows, unused(now, usedNow))
}

// adopt gives elements that others have added to those of the template that lack one, where
// they are the same; the rest follow the rows.
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
			rows[lacking[i]].now = take(have, at, used)
		}
	}
	for i, r := range added {
		if !used[i] {
			rows = append(rows, r)
		}
	}
	return rows
}

// take is the element at an index, which is used from then on; null where the index is -1.
func take(of []expr.Value, at int, used []bool) expr.Value {
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

// unused are the elements of what stands that no row has.
func unused(now []expr.Value, used []bool) (rows []row) {
	for i, n := range now {
		if !used[i] {
			rows = append(rows, row{sides{now: n}, i})
		}
	}
	return rows
}

// pair finds for each element of an array the index of one of another: by its name or ID,
// else one of the same text, one that covers it, or the next in order; -1 where there is
// none. No index stands twice. Elements of different names are different ones.
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

// pairing says of elements which of another array they have.
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
