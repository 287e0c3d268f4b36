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

// Digest returns a digest of a secret, which can be stored and compared, but not read.
type Digest func(secret []byte) string

// digestMember is the name of the only member of an object that replaces a stored secret.
const digestMember = "$digest"

// Keep returns a body that was sent with digests in place of its secrets, so that it may be stored.
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

// DigestIn returns the digest in a value that replaces a secret; is reports whether v is one.
func DigestIn(v expr.Value) (digest string, is bool) {
	m, found := v.Member(digestMember)
	return m.Text(), found && v.Len() == 1 && m.Is(expr.String)
}

// Masked masks secrets, and the digests that Keep put in their place.
func Masked(v expr.Value) expr.Value {
	return Replace(v, func(v expr.Value) (expr.Value, bool) {
		if _, is := DigestIn(v); is || v.WhollySecure() {
			return expr.StringOf(Mask), true
		}
		return v, false
	})
}

// Hidden masks the parts of a resource as it now is that were secrets when it was sent.
func Hidden(current, sent expr.Value) expr.Value {
	if _, is := DigestIn(sent); is && !current.Is(expr.Null) {
		return expr.StringOf(Mask)
	}
	switch {
	case current.Is(expr.Object) && sent.Is(expr.Object):
		members := make([]expr.Member, 0, current.Len())
		for _, m := range current.Members() {
			of, _ := sent.Member(m.Name)
			members = append(members, expr.Member{Name: m.Name, Value: Hidden(m.Value, of)})
		}
		return expr.ObjectOf(members...)
	case current.Is(expr.Array) && sent.Is(expr.Array):
		return hiddenElements(current, sent)
	}
	return current
}

// mostElements bounds the comparisons of the elements of two arrays. Larger arrays are masked
// as a whole.
const mostElements = 200_000

// hiddenElements masks the elements of an array as Hidden does. A provider may change their order, so a secret of any
// element that was sent is masked in all.
func hiddenElements(current, sent expr.Value) expr.Value {
	secrets := slices.DeleteFunc(slices.Clone(sent.Elements()), func(e expr.Value) bool { return !holdsDigest(e) })
	if len(secrets) == 0 {
		return current
	}
	if len(secrets)*current.Len() > mostElements {
		return expr.StringOf(Mask)
	}
	elements := slices.Clone(current.Elements())
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

// Conceal replaces each secret by an expression, so that checks of a planned body treat its
// value as unknown. A text that looks like an expression is escaped.
func Conceal(v expr.Value) expr.Value {
	return Replace(v, func(v expr.Value) (expr.Value, bool) {
		if v.WhollySecure() {
			return expr.StringOf("[secret]"), true
		}
		_, looksSo := expr.Text(v.Text())
		return expr.StringOf("[" + v.Text()), looksSo
	})
}
