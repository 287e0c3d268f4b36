package whatif

import (
	"slices"
	"strings"

	"portico/template/expr"
)

// Mask stands for a secret, as in ARM.
const Mask = "*******"

// digestMember is the one member of an object that stands for a secret in what is kept.
const digestMember = "$digest"

// Keep is what may be kept of a body that was sent: of secrets their digests alone.
func Keep(sent expr.Value, digest Digest) expr.Value {
	return replaced(sent, func(v expr.Value) (expr.Value, bool) {
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
	return replaced(v, func(v expr.Value) (expr.Value, bool) {
		if _, is := digestIn(v); is || v.WhollySecure() {
			return expr.StringOf(Mask), true
		}
		return v, false
	})
}

// Conceal puts an expression in the place of each secret, for those who judge a body that is
// planned: they know none of its value.
func Conceal(v expr.Value) expr.Value {
	return replaced(v, func(v expr.Value) (expr.Value, bool) {
		return expr.StringOf("[secret]"), v.WhollySecure()
	})
}

// Redact hides secrets where they stand in the texts of a value. What a provider answered is
// kept so: Compare redacts what stands by the secrets of the template.
func Redact(v expr.Value, secrets []string) expr.Value {
	if len(secrets) == 0 {
		return v
	}
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, Mask)
	}
	hide := strings.NewReplacer(pairs...)
	return replaced(v, func(v expr.Value) (expr.Value, bool) {
		if !v.Is(expr.String) {
			return v, false
		}
		return expr.StringOf(hide.Replace(v.Text())), true
	})
}

// secretsIn are the texts in a value that are secrets, longer ones first.
func secretsIn(v expr.Value) (secrets []string) {
	replaced(v, func(v expr.Value) (expr.Value, bool) {
		if v.Is(expr.String) && v.Secure() && v.Text() != "" {
			secrets = append(secrets, v.Text())
		}
		return v, !v.Secure()
	})
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(secrets)
}

// replaced is a value in which the replacement of each part, outermost first, stands for it.
// Where there is none, the part's own parts are replaced.
func replaced(v expr.Value, by func(expr.Value) (replacement expr.Value, is bool)) expr.Value {
	if r, is := by(v); is {
		return r
	}
	switch v.Kind() {
	case expr.Array:
		elements := make([]expr.Value, 0, v.Len())
		for i := range v.Len() {
			elements = append(elements, replaced(v.Element(i), by)) // which, of a secret, is one
		}
		return expr.ArrayOf(elements...)
	case expr.Object:
		members := make([]expr.Member, 0, v.Len())
		for _, m := range v.Members() {
			part, _ := v.Member(m.Name)
			members = append(members, expr.Member{Name: m.Name, Value: replaced(part, by)})
		}
		return expr.ObjectOf(members...)
	}
	return v
}
