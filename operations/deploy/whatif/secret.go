package whatif

import (
	"portico/operations/deploy/secret"
	"portico/template/expr"
)

// digestMember is the one member of an object that stands for a secret in what is kept.
const digestMember = "$digest"

// Keep is what may be kept of a body that was sent: of secrets their digests alone.
func Keep(sent expr.Value, digest Digest) expr.Value {
	return secret.Replace(sent, func(v expr.Value) (expr.Value, bool) {
		if !v.WhollySecure() {
			return v, false
		}
		return digested(v, digest), true
	})
}

func digested(v expr.Value, digest Digest) expr.Value {
	return expr.ObjectOf(expr.Member{Name: digestMember, Value: expr.StringOf(digest(v.AppendJSON(nil)))})
}

// digestIn is the digest that stands for a secret.
func digestIn(v expr.Value) (digest string, is bool) {
	m, found := v.Member(digestMember)
	return m.Text(), found && v.Len() == 1 && m.Is(expr.String)
}

// masked hides secrets, and what was kept of them.
func masked(v expr.Value) expr.Value {
	return secret.Replace(v, func(v expr.Value) (expr.Value, bool) {
		if _, is := digestIn(v); is || v.WhollySecure() {
			return expr.StringOf(secret.Mask), true
		}
		return v, false
	})
}

// Conceal puts an expression in the place of each secret, for those who judge a body that is
// planned: they know none of its value.
func Conceal(v expr.Value) expr.Value {
	return secret.Replace(v, func(v expr.Value) (expr.Value, bool) {
		return expr.StringOf("[secret]"), v.WhollySecure()
	})
}
