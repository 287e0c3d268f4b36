package secret

import (
	"slices"

	"portico/template"
	"portico/template/expr"
)

// Is reports whether a value of a declared type is a secret, or a part of it is.
func Is(kind string, v expr.Value) bool {
	return v.Secure() || template.SecureType(kind)
}

// Digest makes of a secret what can be kept and compared, but not read.
type Digest func(secret []byte) string

// digestMember is the one member of an object that stands for a secret in what is kept.
const digestMember = "$digest"

// Keep is what may be kept of a body that was sent: of secrets their digests alone.
func Keep(sent expr.Value, digest Digest) expr.Value {
	return Replace(sent, func(v expr.Value) (expr.Value, bool) {
		if !v.WhollySecure() {
			return v, false
		}
		return digested(v, digest), true
	})
}

func digested(v expr.Value, digest Digest) expr.Value {
	return expr.ObjectOf(expr.Member{Name: digestMember, Value: expr.StringOf(digest(v.AppendJSON(nil)))})
}

// DigestIn is the digest that stands for a secret.
func DigestIn(v expr.Value) (digest string, is bool) {
	m, found := v.Member(digestMember)
	return m.Text(), found && v.Len() == 1 && m.Is(expr.String)
}

// Masked hides secrets, and what was kept of them.
func Masked(v expr.Value) expr.Value {
	return Replace(v, func(v expr.Value) (expr.Value, bool) {
		if _, is := DigestIn(v); is || v.WhollySecure() {
			return expr.StringOf(Mask), true
		}
		return v, false
	})
}

// Hidden hides the parts of what stands that are secrets in what was sent of them.
func Hidden(stands, sent expr.Value) expr.Value {
	if _, is := DigestIn(sent); is && !stands.Is(expr.Null) {
		return expr.StringOf(Mask)
	}
	switch {
	case stands.Is(expr.Object) && sent.Is(expr.Object):
		members := make([]expr.Member, 0, stands.Len())
		for _, m := range stands.Members() {
			of, _ := sent.Member(m.Name)
			members = append(members, expr.Member{Name: m.Name, Value: Hidden(m.Value, of)})
		}
		return expr.ObjectOf(members...)
	case stands.Is(expr.Array) && sent.Is(expr.Array):
		return hiddenElements(stands, sent)
	}
	return stands
}

// mostElements bounds what is compared of two arrays. Of larger ones all is hidden.
const mostElements = 200_000

// hiddenElements is Hidden for arrays. A provider keeps them in an order of its own: what is a
// secret in one element that was sent may stand in any.
func hiddenElements(stands, sent expr.Value) expr.Value {
	secrets := slices.DeleteFunc(slices.Clone(sent.Elements()), func(e expr.Value) bool { return !holdsDigest(e) })
	if len(secrets) == 0 {
		return stands
	}
	if len(secrets)*stands.Len() > mostElements {
		return expr.StringOf(Mask)
	}
	elements := slices.Clone(stands.Elements())
	for i := range elements {
		for _, of := range secrets {
			elements[i] = Hidden(elements[i], of)
		}
	}
	return expr.ArrayOf(elements...)
}

func holdsDigest(v expr.Value) (holds bool) {
	Replace(v, func(v expr.Value) (expr.Value, bool) {
		if _, is := DigestIn(v); is {
			holds = true
		}
		return v, holds
	})
	return holds
}

// Conceal puts an expression in the place of each secret, for those who judge a body that is
// planned: they know none of its value. A text that looks like an expression is escaped.
func Conceal(v expr.Value) expr.Value {
	return Replace(v, func(v expr.Value) (expr.Value, bool) {
		if v.WhollySecure() {
			return expr.StringOf("[secret]"), true
		}
		_, looksSo := expr.Text(v.Text())
		return expr.StringOf("[" + v.Text()), looksSo
	})
}
