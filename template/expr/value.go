// Package expr has the expressions of templates: their values, their text, and their
// evaluation in part, which leaves what only a provider can answer as an expression
// with everything else worked out.
//
// The library of functions is rows of Function, given to an evaluation from outside.
// Four functions are the evaluation's own, because they do not look at all of their
// arguments: if, and, or, coalesce; so are lambda and lambdaVariables.
package expr

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a value, or a set of kinds: String|Int.
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
	Lambda  // a function of the template's: an argument alone
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

// String names the kinds as ARM's errors do, joined by commas.
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
	secure      flag = 1 << iota // the value is a secret, and all of its parts are
	holdsSecure                  // a part of the value is a secret
	holdsPending
)

// Value is an immutable value of the language. The zero Value is null.
type Value struct {
	kind   Kind // 0 is Null
	flags  flag
	depth  uint8  // of Array and Object, up to a bound
	number uint64 // of Bool, Int and Float; of Array and Object the size
	text   string // of String
	ref    any    // []Value, *Members, *Closure or Node
}

// BoolOf is a boolean.
func BoolOf(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.number = 1
	}
	return v
}

// IntOf is an integer.
func IntOf(n int64) Value { return Value{kind: Int, number: uint64(n)} }

// FloatOf is a number with a fraction, as json() and float() make them.
func FloatOf(f float64) Value { return Value{kind: Float, number: math.Float64bits(f)} }

// StringOf is a string.
func StringOf(s string) Value { return Value{kind: String, text: s} }

// ArrayOf is an array of the elements, which the caller gives away.
func ArrayOf(elements ...Value) Value {
	v := Value{kind: Array, depth: 1, ref: elements}
	size := valueSize
	for i := range elements {
		v.hold(&elements[i])
		size = addSize(size, elements[i].Size())
	}
	v.number = uint64(size)
	return v
}

// ObjectOf is an object of the members, which the caller gives away. Of members with
// the same name the last one's value stands in the first one's place.
func ObjectOf(members ...Member) Value {
	m := newMembers(members)
	v := Value{kind: Object, depth: 1, ref: m}
	size := valueSize
	for i := range m.list {
		v.hold(&m.list[i].Value)
		size = addSize(size, memberSize+len(m.list[i].Name)+m.list[i].Value.Size())
	}
	v.number = uint64(size)
	return v
}

// hold notes in a container what it says of a part.
func (v *Value) hold(part *Value) {
	v.flags |= part.flags & holdsPending
	if part.Secure() {
		v.flags |= holdsSecure
	}
	v.depth = max(v.depth, min(part.depth, MaxDepth)+1)
}

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 100

// CheckDepth refuses a value in which arrays and objects nest deeper than MaxDepth.
func (v Value) CheckDepth() error {
	if v.depth > MaxDepth {
		return wrapf(ErrBudget, "a value of the template's expressions nests deeper than %d levels", MaxDepth)
	}
	return nil
}

// Kind is the value's kind: one bit.
func (v Value) Kind() Kind {
	if v.kind == 0 {
		return Null
	}
	return v.kind
}

// Is reports whether the value is of one of the kinds.
func (v Value) Is(kinds Kind) bool { return v.Kind()&kinds != 0 }

// Bool is a boolean's value; false of another kind.
func (v Value) Bool() bool { return v.kind == Bool && v.number != 0 }

// Int is an integer's value; 0 of another kind.
func (v Value) Int() int64 {
	if v.kind != Int {
		return 0
	}
	return int64(v.number)
}

// Float is a number's value; 0 of another kind.
func (v Value) Float() float64 {
	switch v.kind {
	case Int:
		return float64(int64(v.number))
	case Float:
		return math.Float64frombits(v.number)
	}
	return 0
}

// Text is a string's value; empty of another kind.
func (v Value) Text() string { return v.text }

// Elements returns an array's elements; nil for another kind. The caller must not
// change them.
func (v Value) Elements() []Value {
	elements, _ := v.ref.([]Value)
	return elements
}

// Members returns an object's members in order; nil for another kind. The caller must
// not change them.
func (v Value) Members() []Member {
	if m, ok := v.ref.(*Members); ok {
		return m.list
	}
	return nil
}

// Member is the member of an object by its name, else the first one whose name differs in
// casing alone. A secret object's members are secrets.
func (v Value) Member(name string) (Value, bool) {
	_, member, ok := v.member(name)
	return member, ok
}

// MemberSpelled is the member of an object by its very name.
func (v Value) MemberSpelled(name string) (Value, bool) {
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

// Parts returns a copy of an object's members, secrets if the object is one.
func (v Value) Parts() []Member {
	parts := slices.Clone(v.Members())
	for i := range parts {
		parts[i].Value = parts[i].Value.inherit(v)
	}
	return parts
}

// Element is the element of an array at an index that it has.
func (v Value) Element(at int) Value { return v.Elements()[at].inherit(v) }

// Place is the place among an object's members of the one that [Value.Member] returns.
func (v Value) Place(name string) (at int, found bool) {
	m, ok := v.ref.(*Members)
	if !ok {
		return 0, false
	}
	return m.find(name)
}

// inherit is a part of whole, which is a secret where the whole is one.
func (v Value) inherit(whole Value) Value {
	v.flags |= whole.flags & secure
	return v
}

// Len counts an array's elements or an object's members.
func (v Value) Len() int {
	if v.kind == Object {
		return len(v.Members())
	}
	return len(v.Elements())
}

// Closure is a lambda's parameters and body; nil of another kind.
func (v Value) Closure() *Closure {
	c, _ := v.ref.(*Closure)
	return c
}

// Expression is what a Pending value needs to be worked out; nil of another kind.
func (v Value) Expression() Node {
	n, _ := v.ref.(Node)
	return n
}

// PendingOf is a value that only a provider's answer completes.
func PendingOf(n Node) Value { return Value{kind: Pending, flags: holdsPending, ref: n} }

// Known reports whether neither the value nor a part of it needs a provider's answer.
func (v Value) Known() bool { return v.flags&holdsPending == 0 }

// Secure reports whether the value or a part of it is a secret.
func (v Value) Secure() bool { return v.flags&(secure|holdsSecure) != 0 }

// WhollySecure reports whether the value is a secret with all of its parts.
func (v Value) WhollySecure() bool { return v.flags&secure != 0 }

// AsSecure is the same value as a secret.
func (v Value) AsSecure() Value {
	v.flags |= secure
	return v
}

// Equal reports whether both values are the same. Names of members are compared without
// case and in any order, strings with case, integers with floats by value.
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
	return v.Len() == w.Len() && hasMembers(v, w) && (!is || !m.alike || hasMembers(w, v))
}

// hasMembers reports whether an object has the members of another one.
func hasMembers(v, other Value) bool {
	for _, m := range other.Members() {
		if own, ok := v.Member(m.Name); !ok || !m.Value.Equal(own) {
			return false
		}
	}
	return true
}

// Size estimates the bytes that the value takes with all of its parts, each counted
// wherever it stands: values share parts, so it bounds the time to walk through the value.
func (v Value) Size() int {
	switch v.kind {
	case Array, Object:
		return int(v.number)
	case Pending:
		return v.Expression().size()
	}
	return valueSize + len(v.text)
}

// addSize adds up to a bound, since shared parts make sizes grow without end.
func addSize(a, b int) int { return min(a+b, 1<<40) }

const (
	valueSize  = 56 // of a Value
	memberSize = 16 // of a Member, without its Value
)

// JSON is the value as compact JSON. A Pending value is the string that a template would
// hold: its expression in brackets.
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

// appendFloat writes a float as Json.NET does: with a fraction always, and the fewest
// digits that read as the same number.
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

// appendString quotes as Json.NET does: what JSON does not ask to be escaped stays.
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
