package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"portico/template/document"
	"portico/template/expr"
)

// checker compares values with definitions of types.
type checker struct {
	*scope
	definitions *document.Node
	what        string // whose value it is, for faults
}

// definition is a type's declaration, with those that it refers to: what stands at the
// reference goes before what it refers to.
type definition struct {
	nodes []*document.Node
	kind  string // in lower case; empty of any type
}

func (d definition) member(name string) *document.Node {
	for _, n := range d.nodes {
		if m := n.Member(name); m != nil {
			return m
		}
	}
	return nil
}

func (d definition) nullable() bool {
	return d.member("nullable").Is(expr.Bool) && d.member("nullable").Value.Bool()
}

// types are those of parameters and outputs, in lower case: the kind of their values, and how
// ARM's answers spell them.
var types = map[string]struct {
	kind  expr.Kind
	shown string
}{
	"string": {expr.String, "String"}, "securestring": {expr.String, "SecureString"}, "int": {expr.Int, "Int"}, "bool": {expr.Bool, "Bool"},
	"object": {expr.Object, "Object"}, "secureobject": {expr.Object, "SecureObject"}, "array": {expr.Array, "Array"},
}

var typeNames = []string{"string", "securestring", "int", "bool", "object", "secureObject", "array"}

// TypeName is a type of a parameter or an output as ARM's answers spell it. Templates may write
// it in any case.
func TypeName(kind string) string { return cmp.Or(types[strings.ToLower(kind)].shown, kind) }

// SecureType reports whether the values of a type are secrets.
func SecureType(kind string) bool { return strings.HasPrefix(strings.ToLower(kind), "secure") }

const maxReferences = 64 // that lead from one to another

// stepsOfReference is the cost of following a $ref.
const stepsOfReference = 8

// resolve follows a definition's $ref.
func (c checker) resolve(n *document.Node) (definition, bool) {
	d := definition{}
	for range maxReferences {
		if !n.Is(expr.Object) {
			c.fault(n, "the type of %s is an object, and this is %s", c.what, n.Value.Kind())
			return d, false
		}
		d.nodes = append(d.nodes, n)
		reference := n.Member("$ref")
		if reference == nil {
			return c.kind(d)
		}
		if err := c.budget.Steps(stepsOfReference); err != nil {
			c.failed(n, err)
			return d, false
		}
		if n = c.referred(reference); n == nil {
			c.fault(reference, "the template has no definition '%s'", reference.Text())
			return d, false
		}
	}
	c.fault(n, "the definitions refer to each other without end")
	return d, false
}

// referred is the definition that a $ref names; nil if there is none.
func (c checker) referred(reference *document.Node) *document.Node {
	name, ok := strings.CutPrefix(reference.Text(), "#/definitions/")
	if !ok {
		return nil
	}
	return c.definitions.Member(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
}

func (c checker) kind(d definition) (definition, bool) {
	n := d.member("type")
	if n == nil {
		if c.typeless {
			return d, true
		}
		c.fault(d.nodes[len(d.nodes)-1], "%s has no type", c.what)
		return d, false
	}
	d.kind = strings.ToLower(n.Text())
	if _, known := types[d.kind]; !known {
		c.fault(n, "'%s' is no type; types are %s", n.Text(), strings.Join(typeNames, ", "))
		return d, false
	}
	return d, true
}

// check reports where a value differs from its definition, and returns it with its
// secrets marked. What needs an answer is not looked at.
func (c checker) check(d definition, v expr.Value, at *document.Node) (expr.Value, bool) {
	if err := c.charge(v); err != nil {
		c.failed(at, err)
		return v, false
	}
	if SecureType(d.kind) {
		v = v.AsSecure()
	}
	switch {
	case v.Is(expr.Pending) && c.hasSecrets(d.nodes, map[*document.Node]bool{}):
		return v.AsSecure(), true // its parts cannot be told apart any more once they are known
	case d.kind == "", v.Is(expr.Pending), v.Is(expr.Null) && d.nullable():
		return v, true
	case d.kind == "int" && v.Is(expr.Float) && v.Float() == float64(int64(v.Float())):
		v = expr.IntOf(int64(v.Float()))
	case !v.Is(types[d.kind].kind):
		c.fault(at, "%s is of type %s, and its value is of kind %s", c.what, d.member("type").Text(), v.Kind())
		return v, false
	}
	ok := c.allowed(d, v, at) && c.bounds(d, v, at)
	switch {
	case v.Is(expr.Object):
		return c.object(d, v, at, ok)
	case v.Is(expr.Array):
		return c.array(d, v, at, ok)
	}
	return v, ok
}

// charge charges for looking at a value: its name for faults is made anew for each part.
func (c checker) charge(v expr.Value) error {
	n := len(c.what)
	if v.Is(expr.String) {
		n += len(v.Text())
	}
	return cmp.Or(c.budget.Steps(1), c.budget.Text(n))
}

// hasSecrets reports whether a part of a value is a secret by the nodes of its definition.
func (c checker) hasSecrets(nodes []*document.Node, seen map[*document.Node]bool) bool {
	for _, n := range nodes {
		if n == nil || seen[n] || c.budget.Steps(1) != nil {
			continue
		}
		seen[n] = true
		parts := append(slices.Clone(n.Elements), c.referred(n.Member("$ref")))
		for _, m := range n.Members {
			parts = append(parts, m.Node)
		}
		if SecureType(n.Member("type").Text()) || c.hasSecrets(parts, seen) {
			return true
		}
	}
	return false
}

func (c checker) allowed(d definition, v expr.Value, at *document.Node) bool {
	allowed := d.member("allowedValues")
	if allowed == nil {
		return true
	}
	values := allowed.Value
	fine, err := c.among(values, v)
	if v.Is(expr.Array) && !fine { // of an array, each element may be one of them
		fine = true
		for i := 0; fine && err == nil && i < v.Len(); i++ {
			fine, err = c.among(values, v.Element(i))
			fine = fine || !v.Element(i).Known()
		}
	}
	switch {
	case err != nil:
		c.failed(at, err)
	case !fine:
		c.fault(at, "%s has a value that is not allowed; allowed are %s", c.what, listed(values))
	}
	return fine && err == nil
}

// among reports whether a value is one of those allowed.
func (c checker) among(values, v expr.Value) (bool, error) {
	if err := c.budget.Walk(values); err != nil {
		return false, err
	}
	return slices.ContainsFunc(values.Elements(), func(allowed expr.Value) bool {
		return allowed.Equal(v) || v.Is(expr.String) && strings.EqualFold(allowed.Text(), v.Text()) && v.Text() != "" // in any casing, as in ARM
	}), nil
}

func listed(values expr.Value) string {
	const most = 20
	var texts []string
	for i, v := range values.Elements() {
		if i == most {
			texts = append(texts, "…")
			break
		}
		text := v.JSON()
		if v.Is(expr.String) {
			text = "'" + v.Text() + "'"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func (c checker) bounds(d definition, v expr.Value, at *document.Node) bool {
	size, least, most, of := int64(v.Len()), "minLength", "maxLength", "its length"
	switch v.Kind() {
	case expr.Int:
		size, least, most, of = v.Int(), "minValue", "maxValue", "its value"
	case expr.String:
		size = int64(len(utf16.Encode([]rune(v.Text()))))
	case expr.Array:
	default:
		return true
	}
	is := fmt.Sprintf(", and is %d", size)
	if v.Secure() {
		is = ""
	}
	if n := d.member(least); n.Is(expr.Int) && size < n.Value.Int() {
		c.fault(at, "%s: %s must be at least %d%s", c.what, of, n.Value.Int(), is)
		return false
	}
	if n := d.member(most); n.Is(expr.Int) && size > n.Value.Int() {
		c.fault(at, "%s: %s must be at most %d%s", c.what, of, n.Value.Int(), is)
		return false
	}
	return true
}

// part is a checker of a part of a value.
func (c checker) part(step string) checker {
	c.what += step
	return c
}

// inner checks a part by a definition's node.
func (c checker) inner(n *document.Node, v expr.Value, at *document.Node) (expr.Value, bool) {
	d, ok := c.resolve(n)
	if !ok {
		return v, false
	}
	return c.check(d, v, at)
}

func (c checker) array(d definition, v expr.Value, at *document.Node, ok bool) (expr.Value, bool) {
	prefix, items := d.member("prefixItems"), d.member("items")
	if prefix == nil && !items.Is(expr.Object) && !isFalse(items) {
		return v, ok
	}
	var first []*document.Node // of the type; `items` is for the elements after them
	if prefix != nil {
		first = prefix.Elements
	}
	if err := c.budget.Elements(v.Len()); err != nil {
		c.failed(at, err)
		return v, false
	}
	elements := make([]expr.Value, v.Len())
	for i := range elements {
		elements[i] = v.Element(i)
		n := items
		if i < len(first) {
			n = first[i]
		}
		place := c.part(fmt.Sprintf("[%d]", i))
		switch {
		case isFalse(n):
			c.fault(elementAt(at, i), "%s is not allowed: its type has %d elements", place.what, len(first))
			ok = false
		case n.Is(expr.Object):
			var fine bool
			elements[i], fine = place.inner(n, elements[i], elementAt(at, i))
			ok = ok && fine
		}
	}
	if len(elements) < len(first) {
		c.fault(at, "%s has %d elements, and its type has %d", c.what, len(elements), len(first))
		ok = false
	}
	return sameSecrecy(expr.ArrayOf(elements...), v), ok
}

func isFalse(n *document.Node) bool { return n.Is(expr.Bool) && !n.Value.Bool() }

// elementAt is where an element of a value is given, as near as is known.
func elementAt(at *document.Node, i int) *document.Node {
	if i < len(at.Elements) {
		return at.Elements[i]
	}
	return at
}

func memberAt(at *document.Node, name string) *document.Node {
	if m := at.MemberOrNull(name); m != nil && at.Is(expr.Object) {
		return m
	}
	return at
}

// sameSecrecy marks what was made of parts of v as v is.
func sameSecrecy(value, v expr.Value) expr.Value {
	if v.WhollySecure() {
		return value.AsSecure()
	}
	return value
}

func (c checker) object(d definition, v expr.Value, at *document.Node, ok bool) (expr.Value, bool) {
	if chosen, found := c.discriminate(d, v, at); d.member("discriminator") != nil {
		if !found {
			return v, false
		}
		d = chosen
	}
	properties, more := d.member("properties"), d.member("additionalProperties")
	if properties == nil && more == nil {
		return v, ok
	}
	if err := c.budget.Object(v.Members()); err != nil {
		c.failed(at, err)
		return v, false
	}
	members := make([]expr.Member, 0, v.Len())
	for _, m := range v.Parts() {
		n := properties.Member(m.Name)
		if n == nil {
			n = more
		}
		place := c.part("." + m.Name)
		switch {
		case isFalse(n) || n == nil && isTrue(d.member("sealed")):
			c.fault(memberAt(at, m.Name), "%s is not allowed: its type has no such property", place.what)
			ok = false
		case n.Is(expr.Object):
			var fine bool
			m.Value, fine = place.inner(n, m.Value, memberAt(at, m.Name))
			ok = ok && fine
		}
		members = append(members, m)
	}
	return sameSecrecy(expr.ObjectOf(members...), v), c.required(properties, v, at) && ok
}

func isTrue(n *document.Node) bool { return n.Is(expr.Bool) && n.Value.Bool() }

// required reports the properties that a value lacks.
func (c checker) required(properties *document.Node, v expr.Value, at *document.Node) bool {
	ok := true
	if properties == nil {
		return ok
	}
	for _, m := range properties.Present() {
		if _, given := v.Member(m.Name); given {
			continue
		}
		d, resolved := c.part("." + m.Name).resolve(m.Node)
		if resolved && !d.nullable() {
			c.fault(at, "%s.%s is missing", c.what, m.Name)
		}
		ok = ok && resolved && d.nullable()
	}
	return ok
}

// discriminate chooses one of several types by a property's value.
func (c checker) discriminate(d definition, v expr.Value, at *document.Node) (definition, bool) {
	discriminator := d.member("discriminator")
	if discriminator == nil {
		return d, true
	}
	name, mapping := discriminator.Member("propertyName").Text(), discriminator.Member("mapping")
	value, given := v.Member(name)
	if given && !value.Known() {
		return definition{kind: d.kind}, true
	}
	if given && value.Is(expr.String) && mapping != nil && c.budget.Steps(len(mapping.Members)) == nil {
		for _, m := range mapping.Members {
			if m.Name == value.Text() {
				chosen, ok := c.resolve(m.Node)
				return chosen, ok
			}
		}
	}
	var names []string
	if mapping != nil {
		for _, m := range mapping.Members {
			names = append(names, "'"+m.Name+"'")
		}
	}
	c.fault(memberAt(at, name), "%s.%s must be one of %s: it chooses the type", c.what, name, strings.Join(names, ", "))
	return d, false
}
