package whatif

import (
	"strings"

	"portico/arm"
	"portico/jobs/deploy/secret"
	"portico/template/expr"
)

// mostSteps bounds the comparisons of one resource. Once they are spent, arrays are compared in
// order.
const mostSteps = 200_000

// spent charges a step, and reports whether none was left.
func (d *differ) spent() bool {
	*d.steps--
	return *d.steps < 0
}

// same reports whether two values are equal. Values that depend on answers are unknown and count
// as equal, as do secrets that another caller sent; null equals absent.
func (d *differ) same(name string, a, b expr.Value) bool {
	return d.equal(name, a, b, func(_ string, a, b expr.Value) bool {
		for _, m := range b.Members() {
			if _, named := a.Member(m.Name); !named && !m.Value.Is(expr.Null) {
				return false
			}
		}
		return coversMembers(a, b, d.same)
	}, d.inOrder)
}

// covers reports whether have contains all that want has; it may contain more.
func (d *differ) covers(name string, want, have expr.Value) bool {
	return d.equal(name, want, have, func(_ string, a, b expr.Value) bool { return coversMembers(a, b, d.covers) }, d.inAnyOrder)
}

type comparison func(name string, a, b expr.Value) bool

// equal compares scalars itself, and objects and arrays by the given comparisons.
func (d *differ) equal(name string, a, b expr.Value, objects, arrays comparison) bool {
	if a.Is(expr.Pending) {
		return true
	}
	if digest, is := secret.DigestIn(b); is && d.recorded {
		return d.digest == nil || a.WhollySecure() && d.digest(a.AppendJSON(nil)) == digest
	}
	switch {
	case a.Is(expr.Object) && b.Is(expr.Object):
		return objects(name, a, b)
	case a.Is(expr.Array) && b.Is(expr.Array):
		return a.Len() == b.Len() && arrays(name, a, b)
	case a.Is(expr.String) && b.Is(expr.String):
		return equalText(name, a.Text(), b.Text())
	}
	return a.Equal(b)
}

func coversMembers(a, b expr.Value, values comparison) bool {
	for _, m := range a.Members() {
		s := sides{planned: a, now: b}.member(m.Name)
		if !s.planned.Is(expr.Null) && !values(m.Name, s.planned, s.now) {
			return false
		}
	}
	return true
}

func (d *differ) inOrder(name string, a, b expr.Value) bool {
	for i := range a.Len() {
		if !d.same(name, a.Element(i), b.Element(i)) {
			return false
		}
	}
	return true
}

func (d *differ) inAnyOrder(name string, a, b expr.Value) bool {
	used := make([]bool, b.Len())
	for i := range a.Len() {
		found := false
		for step := 0; !found && step < b.Len(); step++ {
			at := (i + step) % b.Len() // most keep their index
			if used[at] || step > 0 && d.spent() {
				continue
			}
			if found = d.covers(name, a.Element(i), b.Element(at)); found {
				used[at] = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// equalText compares texts as ARM does: locations without blanks and case, ids without case.
func equalText(name, a, b string) bool {
	switch {
	case a == b:
		return true
	case strings.EqualFold(name, "location"):
		return arm.Location(a) == arm.Location(b)
	}
	return isID(a) && isID(b) && arm.EqualFold(a, b)
}

func isID(s string) bool {
	s = arm.Fold(s[:min(len(s), len("/subscriptions/"))])
	return s == "/subscriptions/" || strings.HasPrefix(s, "/providers/")
}
