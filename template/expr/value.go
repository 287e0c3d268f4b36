// Package expr implements the expressions of templates: values, parser, printer, and partial
// evaluation, which keeps calls that only a provider can answer as expressions and evaluates
// everything else.
//
// The functions are supplied as rows of type Function. Six are part of the evaluation: if, and, or,
// and coalesce, because they do not evaluate all their arguments, and lambda and lambdaVariables.
package expr

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a value, or a set of kinds such as String|Int.
type Kind uint16

// The kinds of values.
const (
	Null Kind = 1 << iota
	Bool
	Int
	Float
	String
	Array
	Object
	Lambda  // allowed only as an argument
	Pending // an expression that needs a provider's answer

	Number = Int | Float
	Any    = Null | Bool | Number | String | Array | Object
)

var kindNames = []struct {
	kind Kind
	name string
}{
	{Null, "Null"}, {Bool, "Boolean"}, {Int, "Integer"}, {Float, "Float"}, {String, "String"},
	{Array, "Array"}, {Object, "Object"}, {Lambda, "Lambda"}, {Pending, "Expression"},
}

// String returns the names of the kinds as in ARM's errors, separated by commas.
func (k Kind) String() string {
	var names []string
	for _, row := range kindNames {
		if k&row.kind != 0 {
			names = append(names, row.name)
		}
	}
	return strings.Join(names, ", ")
}

type flag uint8

const (
	secure      flag = 1 << iota // the whole value is a secret
	holdsSecure                  // a part of the value is a secret
	holdsPending
)

// Value is an immutable value of the language. The zero Value is null.
type Value struct {
	kind   Kind // 0 means Null
	flags  flag
	depth  uint8  // of Array and Object, up to MaxDepth+1
	number uint64 // value of Bool, Int and Float; size of Array and Object
	text   string // value of String
	ref    any    // []Value, *Members, *Closure or Node
}

// BoolOf returns a boolean.
func BoolOf(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.number = 1
	}
	return v
}

// IntOf returns an integer.
func IntOf(n int64) Value { return Value{kind: Int, number: uint64(n)} }

// FloatOf returns a number with a fraction, as json() and float() do.
func FloatOf(f float64) Value { return Value{kind: Float, number: math.Float64bits(f)} }

// StringOf returns a string.
func StringOf(s string) Value { return Value{kind: String, text: s} }

// ArrayOf returns an array. The caller must not use the elements afterwards.
func ArrayOf(elements ...Value) Value {
	v := Value{kind: Array, depth: 1, ref: elements}
	size := valueSize
	for i := range elements {
		v.absorbFlags(&elements[i])
		size = addSize(size, elements[i].Size())
	}
	v.number = uint64(size)
	return v
}

// ObjectOf returns an object. The caller must not use the members afterwards. If a name is
// repeated, the last value takes the first one's place.
func ObjectOf(members ...Member) Value {
	m := newMembers(members)
	v := Value{kind: Object, depth: 1, ref: m}
	size := valueSize
	for i := range m.list {
		v.absorbFlags(&m.list[i].Value)
		size = addSize(size, memberSize+len(m.list[i].Name)+m.list[i].Value.Size())
	}
	v.number = uint64(size)
	return v
}

// absorbFlags updates a container's flags and depth for a part.
func (v *Value) absorbFlags(part *Value) {
	v.flags |= part.flags & holdsPending
	if part.Secure() {
		v.flags |= holdsSecure
	}
	v.depth = max(v.depth, min(part.depth, MaxDepth)+1)
}

// MaxDepth is the maximum nesting of arrays and objects.
const MaxDepth = 100

// CheckDepth returns an error if arrays and objects nest deeper than MaxDepth.
func (v Value) CheckDepth() error {
	if v.depth > MaxDepth {
		return wrapf(ErrBudget, "a value of the template's expressions nests deeper than %d levels", MaxDepth)
	}
	return nil
}

// Kind returns the value's kind, which is a single bit.
func (v Value) Kind() Kind {
	if v.kind == 0 {
		return Null
	}
	return v.kind
}

// Is reports whether the value has one of the kinds.
func (v Value) Is(kinds Kind) bool { return v.Kind()&kinds != 0 }

// Bool returns a boolean's value; false for other kinds.
func (v Value) Bool() bool { return v.kind == Bool && v.number != 0 }

// Int returns an integer's value; 0 for other kinds.
func (v Value) Int() int64 {
	if v.kind != Int {
		return 0
	}
	return int64(v.number)
}

// Float returns a number's value; 0 for other kinds.
func (v Value) Float() float64 {
	switch v.kind {
	case Int:
		return float64(int64(v.number))
	case Float:
		return math.Float64frombits(v.number)
	}
	return 0
}

// Text returns a string's value; "" for other kinds.
func (v Value) Text() string { return v.text }

// Elements returns an array's elements; nil for other kinds. The caller must not change them.
func (v Value) Elements() []Value {
	elements, _ := v.ref.([]Value)
	return elements
}

// Members returns an object's members in order; nil for other kinds. The caller must not change
// them.
func (v Value) Members() []Member {
	if m, ok := v.ref.(*Members); ok {
		return m.list
	}
	return nil
}

// Member returns an object's member with that name, or else the first that differs from it only in
// case. Members of a secret object are secrets.
func (v Value) Member(name string) (Value, bool) {
	_, member, ok := v.member(name)
	return member, ok
}

// MemberExact returns the member whose name matches exactly.
func (v Value) MemberExact(name string) (Value, bool) {
	spelled, member, ok := v.member(name)
	if !ok || spelled != name {
		return Value{}, false
	}
	return member, true
}

func (v Value) member(name string) (spelled string, member Value, ok bool) {
	at, ok := v.Place(name)
	if !ok {
		return "", Value{}, false
	}
	m := v.Members()[at]
	return m.Name, m.Value.inherit(v), true
}

// Parts returns a copy of an object's members. Members of a secret object are secrets.
func (v Value) Parts() []Member {
	parts := slices.Clone(v.Members())
	for i := range parts {
		parts[i].Value = parts[i].Value.inherit(v)
	}
	return parts
}

// Element returns an array's element. The index must be valid.
func (v Value) Element(at int) Value { return v.Elements()[at].inherit(v) }

// Place returns the index, among an object's members, of the one that [Value.Member] returns.
func (v Value) Place(name string) (at int, found bool) {
	m, ok := v.ref.(*Members)
	if !ok {
		return 0, false
	}
	return m.find(name)
}

// inherit returns v, marked as a secret if whole is one.
func (v Value) inherit(whole Value) Value {
	v.flags |= whole.flags & secure
	return v
}

// Len returns the number of elements or members.
func (v Value) Len() int {
	if v.kind == Object {
		return len(v.Members())
	}
	return len(v.Elements())
}

// Closure returns a lambda's parameters and body; nil for other kinds.
func (v Value) Closure() *Closure {
	c, _ := v.ref.(*Closure)
	return c
}

// Expression returns the expression of a Pending value; nil for other kinds.
func (v Value) Expression() Node {
	n, _ := v.ref.(Node)
	return n
}

// PendingOf returns a Pending value for an expression.
func PendingOf(n Node) Value { return Value{kind: Pending, flags: holdsPending, ref: n} }

// Known reports whether no part of the value is Pending.
func (v Value) Known() bool { return v.flags&holdsPending == 0 }

// Secure reports whether the value or a part of it is a secret.
func (v Value) Secure() bool { return v.flags&(secure|holdsSecure) != 0 }

// WhollySecure reports whether the whole value is a secret.
func (v Value) WhollySecure() bool { return v.flags&secure != 0 }

// AsSecure returns the value marked as a secret.
func (v Value) AsSecure() Value {
	v.flags |= secure
	return v
}

// Equal reports whether two values are equal. Order and case of members' names do not matter; the
// case of strings does. Integers and floats are compared by value.
func (v Value) Equal(w Value) bool {
	if v.Is(Number) && w.Is(Number) {
		if v.kind == Int && w.kind == Int {
			return v.number == w.number
		}
		return v.Float() == w.Float()
	}
	if v.Kind() != w.Kind() {
		return false
	}
	switch v.kind {
	case Bool:
		return v.number == w.number
	case String:
		return v.text == w.text
	case Array:
		return equalElements(v.Elements(), w.Elements())
	case Object:
		return equalMembers(v, w)
	case Pending:
		return Print(v.Expression()) == Print(w.Expression())
	case Lambda:
		return v.Closure() == w.Closure()
	}
	return true
}

func equalElements(v, w []Value) bool {
	if len(v) != len(w) {
		return false
	}
	for i := range v {
		if !v[i].Equal(w[i]) {
			return false
		}
	}
	return true
}

func equalMembers(v, w Value) bool {
	m, is := w.ref.(*Members)
	return v.Len() == w.Len() && hasMembers(v, w) && (!is || !m.hasCaseTwins || hasMembers(w, v))
}

// hasMembers reports whether v has all members of other, with equal values.
func hasMembers(v, other Value) bool {
	for _, m := range other.Members() {
		if own, ok := v.Member(m.Name); !ok || !m.Value.Equal(own) {
			return false
		}
	}
	return true
}

// Size estimates the bytes of the value, counting shared parts each time they occur. It is
// therefore a bound for the time to walk through the value.
func (v Value) Size() int {
	switch v.kind {
	case Array, Object:
		return int(v.number)
	case Pending:
		return v.Expression().size()
	}
	return valueSize + len(v.text)
}

// addSize adds up to a maximum, because sharing makes sizes grow exponentially.
func addSize(a, b int) int { return min(a+b, 1<<40) }

const (
	valueSize  = 56 // size of a Value
	memberSize = 16 // size of a Member without its Value
)

// JSON returns the value as compact JSON. A Pending value becomes a string with its expression in
// brackets, as in a template.
func (v Value) JSON() string { return string(v.AppendJSON(nil)) }

// AppendJSON appends the value as compact JSON.
func (v Value) AppendJSON(to []byte) []byte {
	switch v.Kind() {
	case Bool:
		return strconv.AppendBool(to, v.Bool())
	case Int:
		return strconv.AppendInt(to, v.Int(), 10)
	case Float:
		return appendFloat(to, v.Float())
	case String:
		return appendString(to, v.text)
	case Pending:
		return appendString(to, "["+Print(v.Expression())+"]")
	case Array:
		to = append(to, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				to = append(to, ',')
			}
			to = e.AppendJSON(to)
		}
		return append(to, ']')
	case Object:
		to = append(to, '{')
		for i, m := range v.Members() {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendString(to, m.Name), ':')
			to = m.Value.AppendJSON(to)
		}
		return append(to, '}')
	}
	return append(to, "null"...)
}

// appendFloat formats a float as Json.NET does: always with a fraction, and with the fewest digits
// that parse to the same number.
func appendFloat(to []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(to, "null"...)
	}
	from := len(to)
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-5 || abs >= 1e16) {
		format = 'E'
	}
	to = strconv.AppendFloat(to, f, format, -1, 64)
	if !strings.ContainsAny(string(to[from:]), ".E") {
		to = append(to, ".0"...)
	}
	return to
}

const hexDigits = "0123456789abcdef"

// appendString quotes a string as Json.NET does: it escapes only what JSON requires.
func appendString(to []byte, s string) []byte {
	to = append(to, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, '\\', 'n')
		case '\r':
			to = append(to, '\\', 'r')
		case '\t':
			to = append(to, '\\', 't')
		case '\b':
			to = append(to, '\\', 'b')
		case '\f':
			to = append(to, '\\', 'f')
		default:
			to = append(to, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(to, s[from:]...), '"')
}
