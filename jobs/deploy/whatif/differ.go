package whatif

import (
	"slices"
	"strings"

	"portico/jobs/deploy/secret"
	"portico/template/expr"
)

// sides are the values of one place; null where there is none. Without a record, what was
// sent and answered is what stands.
type sides struct{ planned, sent, answered, now expr.Value }

func (s sides) member(name string) sides {
	at := func(v expr.Value) expr.Value { m, _ := v.Member(name); return m }
	return sides{at(s.planned), at(s.sent), at(s.answered), at(s.now)}
}

// before is what stands; of what its provider hides it is what was sent.
func (s sides) before() expr.Value {
	if s.now.Is(expr.Null) && s.answered.Is(expr.Null) {
		return s.sent
	}
	return s.now
}

// differ finds the changes below one place.
type differ struct {
	recorded bool
	digest   secret.Digest  // nil: what was sent of secrets is unknown
	secrets  secret.Secrets // which are not shown
	inside   bool           // an array: paths begin at its element
	steps    *int           // that are left
	found    []PropertyChange
}

// inner finds the changes below an array.
func (d *differ) inner() differ {
	return differ{recorded: d.recorded, digest: d.digest, secrets: d.secrets, inside: true, steps: d.steps}
}

// identity are the members that say which resource it is, and not what it is like.
var identity = []string{"id", "name", "type", "apiversion"}

// members compares the members of an object.
func (d *differ) members(path string, s sides) {
	owned := path == "tags" && !d.inside
	for _, name := range d.names(s, owned) {
		if path == "" && !d.inside && slices.Contains(identity, strings.ToLower(name)) {
			continue
		}
		d.value(pathOf(path, name), name, s.member(name), owned)
	}
}

// names are the members that are compared: those of the template, those that it had when it
// was sent last, and where the whole object is the client's own, all of them.
func (d *differ) names(s sides, owned bool) []string {
	var names []string
	seen := map[string]bool{}
	add := func(v expr.Value) {
		for _, m := range v.Members() {
			if folded := strings.ToLower(m.Name); !seen[folded] {
				seen[folded] = true
				names = append(names, m.Name)
			}
		}
	}
	add(s.planned)
	if d.recorded {
		add(s.sent)
	}
	if owned {
		add(s.now)
	}
	return names
}

// value compares the values of a place, the last name of whose path is name. Of an object or
// array that is the client's own, a part that the template does not name goes.
func (d *differ) value(path, name string, s sides, owned bool) {
	if s.planned.Is(expr.Pending) || d.digest == nil && d.sentSecret(s) || d.recorded && d.same(name, s.planned, s.sent) && d.same(name, s.answered, s.now) {
		return
	}
	before := s.before()
	switch {
	case s.planned.Is(expr.Null):
		if gone := d.recorded && !s.sent.Is(expr.Null); (gone || owned) && !before.Is(expr.Null) {
			d.leaf(path, s)
		}
	case s.planned.WhollySecure(), d.sentSecret(s):
		if !d.covers(name, s.planned, before) {
			d.leaf(path, s)
		}
	case s.planned.Is(expr.Object) && before.Is(expr.Object):
		d.members(path, s)
	case s.planned.Is(expr.Array) && before.Is(expr.Array):
		elements := d.inner()
		elements.array(name, s)
		d.nest(path, PropertyArray, elements.found)
	case !d.covers(name, s.planned, before):
		d.leaf(path, s)
	}
}

// sentSecret reports whether a secret was sent last. Of that there is a digest, which has no parts.
func (d *differ) sentSecret(s sides) bool {
	_, is := secret.DigestIn(s.sent)
	return d.recorded && is
}

func (d *differ) nest(path string, kind PropertyType, children []PropertyChange) {
	if len(children) > 0 {
		d.found = append(d.found, PropertyChange{Path: path, Type: kind, Children: children})
	}
}

func (d *differ) leaf(path string, s sides) {
	before, after := secret.Hidden(s.before(), s.sent), s.planned
	c := PropertyChange{Path: path, Type: PropertyModify, Before: text(d.secrets.Value(before)), After: text(after)}
	if after.WhollySecure() && c.Before != nil {
		c.Before = c.After // what a secret replaces is one
	}
	switch {
	case before.Is(expr.Null):
		c.Type = PropertyCreate
	case after.Is(expr.Null):
		c.Type = PropertyDelete
	}
	d.found = append(d.found, c)
}

// pathOf is the path of a member.
func pathOf(path, name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, ".['"):
		return path + "['" + strings.ReplaceAll(name, "'", "''") + "']"
	case path == "":
		return name
	}
	return path + "." + name
}
