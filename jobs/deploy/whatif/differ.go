package whatif

import (
	"slices"
	"strings"

	"portico/jobs/deploy/secret"
	"portico/template/expr"
)

// sides are the values of one place, null if there is none. Without a record, sent and answered
// are the same as now.
type sides struct{ planned, sent, answered, now expr.Value }

func (s sides) member(name string) sides {
	at := func(v expr.Value) expr.Value { m, _ := v.Member(name); return m }
	return sides{at(s.planned), at(s.sent), at(s.answered), at(s.now)}
}

// before returns the current value, or the value that was sent if the provider hides it.
func (s sides) before() expr.Value {
	if s.now.Is(expr.Null) && s.answered.Is(expr.Null) {
		return s.sent
	}
	return s.now
}

// differ finds the changes below one place.
type differ struct {
	recorded bool
	digest   secret.Digest  // nil: secrets that were sent cannot be compared
	secrets  secret.Secrets // to be masked
	inside   bool           // of an array: paths begin at its element
	steps    *int           // the number that is left
	found    []PropertyChange
}

// inner returns a differ for the elements of an array.
func (d *differ) inner() differ {
	return differ{recorded: d.recorded, digest: d.digest, secrets: d.secrets, inside: true, steps: d.steps}
}

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

// value compares the values of a place. name is the last name of its path. If the client owns the
// object or array that it is in, a part that is not in the template is removed.
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

// sentSecret reports whether a secret was sent last, so that there is only a digest to compare.
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
		c.Before = c.After // it replaces a secret, which is masked, too
	}
	switch {
	case before.Is(expr.Null):
		c.Type = PropertyCreate
	case after.Is(expr.Null):
		c.Type = PropertyDelete
	}
	d.found = append(d.found, c)
}

// pathOf returns the path of a member.
func pathOf(path, name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, ".['"):
		return path + "['" + strings.ReplaceAll(name, "'", "''") + "']"
	case path == "":
		return name
	}
	return path + "." + name
}
