package config

import (
	"fmt"
	"slices"
)

// object reads the keys of one mapping. An object that is absent from the file
// stands where its parent stands, so that what it lacks can be reported.
type object struct {
	r      *report
	n      *node
	path   string // as faults name it
	broken bool   // not a mapping: reported, so nothing more is said of it
}

// object reports unknown keys and whatever is no mapping.
func (r *report) object(n *node, path string, keys ...string) object {
	r.notes.mapping(path, keys)
	o := object{r: r, n: n, path: path}
	if n.kind != mapping {
		r.fault(n, fmt.Sprintf("%s is %s, not a mapping", path, n.kind), "the keys "+choice(keys))
		o.broken = true
		return o
	}
	for _, e := range n.entries {
		if !slices.Contains(keys, e.key.text) {
			what := fmt.Sprintf("unknown key %s", quote(e.key.text))
			if path != "" {
				what += " in " + path
			}
			r.fault(e.key, what, choice(keys))
		}
	}
	return o
}

// child reads the mapping under a key; where there is none, all its keys are
// absent.
func (o object) child(key string, keys ...string) object {
	n := o.get(key)
	if n == nil {
		o.r.notes.mapping(join(o.path, key), keys)
		absent := &node{file: o.n.file, line: o.n.line, column: o.n.column, kind: mapping}
		return object{r: o.r, n: absent, path: join(o.path, key), broken: o.broken}
	}
	return o.r.object(n, join(o.path, key), keys...)
}

// children reads a list of mappings.
func (o object) children(key string, keys ...string) []object {
	items := o.list(key)
	all := make([]object, len(items))
	for i, item := range items {
		all[i] = o.r.object(item, join(o.path, key), keys...)
	}
	return all
}

// get returns the value of a key; nil where it is absent or empty.
func (o object) get(key string) *node {
	if e := o.n.lookup(key); e != nil && e.value.kind != null {
		return e.value
	}
	return nil
}

// at returns where a fault of keys belongs: at the value of the first of them
// that is there, else at the object.
func (o object) at(keys ...string) *node {
	for _, key := range keys {
		if n := o.get(key); n != nil {
			return n
		}
	}
	return o.n
}

// need is get for a key that must be there.
func (o object) need(key, allowed string) *node {
	o.r.notes.need(join(o.path, key))
	n := o.get(key)
	if n == nil && !o.broken {
		o.r.fault(o.n, join(o.path, key)+" is missing", allowed)
	}
	return n
}

// list returns the items of a list; none where the key is absent.
func (o object) list(key string) []*node {
	o.r.notes.list(join(o.path, key), false)
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != list {
		o.r.fault(n, fmt.Sprintf("%s is %s, not a list", join(o.path, key), n.kind), "a list, such as [a, b]")
		return nil
	}
	return n.items
}

// filled is list for a key that, when given, must have items.
func (o object) filled(key, allowed string) []*node {
	o.r.notes.list(join(o.path, key), true)
	items := o.list(key)
	if n := o.get(key); n != nil && n.kind == list && len(items) == 0 {
		o.r.fault(n, join(o.path, key)+" is empty", allowed)
	}
	return items
}

// rule says how the text of one scalar is read.
type rule[T any] struct {
	parse   func(text string) (T, bool)
	noun    string // what the text should have been: "is no …"
	allowed string
	secret  bool // never quoted
	shape   shape
}

// value reads one scalar by a rule; ok is false where it was reported.
func value[T any](r *report, n *node, path string, want rule[T]) (v T, ok bool) {
	noteItem(r.notes, path, want)
	if n.kind != scalar {
		r.fault(n, fmt.Sprintf("%s is %s, not a single value", path, n.kind), want.allowed)
		return v, false
	}
	if v, ok = want.parse(n.text); ok {
		return v, true
	}
	shown := quote(n.text)
	if want.secret {
		shown = "the value"
	}
	r.fault(n, fmt.Sprintf("%s: %s is no %s", path, shown, want.noun), want.allowed)
	return v, false
}

// set reads the scalar under a key into dst, which keeps its value where the
// key is absent or wrong. It returns the scalar, if it is there and right.
func set[T any](o object, key string, dst *T, want rule[T]) *node {
	noteScalar(o.r.notes, join(o.path, key), want, *dst)
	n := o.get(key)
	if n == nil {
		return nil
	}
	v, ok := value(o.r, n, join(o.path, key), want)
	if !ok {
		return nil
	}
	*dst = v
	return n
}

// must is set for a key that has to be there.
func must[T any](o object, key string, dst *T, want rule[T]) *node {
	if o.need(key, want.allowed) == nil {
		return nil
	}
	return set(o, key, dst, want)
}

// distinct reports values that a list holds more than once.
type distinct struct {
	r     *report
	noun  string
	first map[string]*node
}

func (r *report) distinct(noun string) distinct {
	return distinct{r, noun, make(map[string]*node)}
}

// add reports whether key is new; shown stands for it in the fault.
func (d distinct) add(at *node, key, shown string) bool {
	if first := d.first[key]; first != nil {
		what := d.noun
		if shown != "" {
			what += " " + quote(shown)
		}
		d.r.fault(at, fmt.Sprintf("%s is given twice, first at %s", what, first.where()), "each once")
		return false
	}
	d.first[key] = at
	return true
}

// quote shows a text in a fault: on one line, and not without end.
func quote(text string) string { return fmt.Sprintf("%q", shorten(text)) }

// quoteASCII is quote where letters beyond ASCII are what is wrong, and may
// look like others.
func quoteASCII(text string) string { return fmt.Sprintf("%+q", shorten(text)) }

func shorten(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "..."
}
