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

// checker compares values with their declared types.
type checker struct {
	*scope
	definitions *document.Node
	label       string // names the value in faults
}

// definition is the declaration of a type, followed by the definitions that its $ref leads to.
// Members of earlier nodes take precedence.
type definition struct {
	nodes []*document.Node
	kind  string // in lower case; empty if any type is allowed
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

// types maps the types of parameters and outputs, in lower case, to the kind of their values and to
// the spelling in ARM's answers.
var types = map[string]struct {
	kind  expr.Kind
	shown string
}{
	"string": {expr.String, "String"}, "securestring": {expr.String, "SecureString"}, "int": {expr.Int, "Int"}, "bool": {expr.Bool, "Bool"},
	"object": {expr.Object, "Object"}, "secureobject": {expr.Object, "SecureObject"}, "array": {expr.Array, "Array"},
}

var typeNames = []string{"string", "securestring", "int", "bool", "object", "secureObject", "array"}

// TypeName returns the spelling that ARM's answers use for a parameter's or output's type.
// Templates may write it in any case.
func TypeName(kind string) string { return cmp.Or(types[strings.ToLower(kind)].shown, kind) }

// SecureType reports whether the values of a type are secrets.
func SecureType(kind string) bool { return strings.HasPrefix(strings.ToLower(kind), "secure") }

const maxReferences = 64 // in one chain of definitions

// stepsOfReference is the cost of following a $ref.
const stepsOfReference = 8

// resolve follows the chain of $refs that begins at a definition.
func (c checker) resolve(n *document.Node) (definition, bool) {
	d := definition{}
	for range maxReferences {
		if !n.Is(expr.Object) {
			c.fault(n, "the type of %s is an object, and this is %s", c.label, n.Value.Kind())
			return d, false
		}
		d.nodes = append(d.nodes, n)
		reference := n.Member("$ref")
		if reference == nil {
			return c.readType(d)
		}
		if err := c.budget.Steps(stepsOfReference); err != nil {
			c.reportError(n, err)
			return d, false
		}
		if n = c.lookUpRef(reference); n == nil {
			c.fault(reference, "the template has no definition '%s'", reference.Text())
			return d, false
		}
	}
	c.fault(n, "the definitions refer to each other without end")
	return d, false
}

// lookUpRef returns the definition that a $ref names, or nil.
func (c checker) lookUpRef(reference *document.Node) *document.Node {
	name, ok := strings.CutPrefix(reference.Text(), "#/definitions/")
	if !ok {
		return nil
	}
	return c.definitions.Member(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
}

func (c checker) readType(d definition) (definition, bool) {
	n := d.member("type")
	if n == nil {
		if c.typeless {
			return d, true
		}
		c.fault(d.nodes[len(d.nodes)-1], "%s has no type", c.label)
		return d, false
	}
	d.kind = strings.ToLower(n.Text())
	if _, known := types[d.kind]; !known {
		c.fault(n, "'%s' is no type; types are %s", n.Text(), strings.Join(typeNames, ", "))
		return d, false
	}
	return d, true
}

// check reports each difference between a value and its definition, and returns the value with its
// secrets marked. It does not look into Pending values.
func (c checker) check(d definition, v expr.Value, at *document.Node) (expr.Value, bool) {
	if err := c.charge(v); err != nil {
		c.reportError(at, err)
		return v, false
	}
	if SecureType(d.kind) {
		v = v.AsSecure()
	}
	switch {
	case v.Is(expr.Pending) && c.hasSecrets(d.nodes, map[*document.Node]bool{}):
		return v.AsSecure(), true // once they are known, its secret parts can no longer be told from the others
	case d.kind == "", v.Is(expr.Pending), v.Is(expr.Null) && d.nullable():
		return v, true
	case d.kind == "int" && v.Is(expr.Float) && v.Float() == float64(int64(v.Float())):
		v = expr.IntOf(int64(v.Float()))
	case !v.Is(types[d.kind].kind):
		c.fault(at, "%s is of type %s, and its value is of kind %s", c.label, d.member("type").Text(), v.Kind())
		return v, false
	}
	ok := c.checkAllowed(d, v, at) && c.checkBounds(d, v, at)
	switch {
	case v.Is(expr.Object):
		return c.checkObject(d, v, at, ok)
	case v.Is(expr.Array):
		return c.checkArray(d, v, at, ok)
	}
	return v, ok
}

// charge charges for looking at a value. Building its label costs too, because each part gets a new
// one.
func (c checker) charge(v expr.Value) error {
	n := len(c.label)
	if v.Is(expr.String) {
		n += len(v.Text())
	}
	return cmp.Or(c.budget.Steps(1), c.budget.Text(n))
}

// hasSecrets reports whether these nodes of a definition declare a part of the value as a secret.
func (c checker) hasSecrets(nodes []*document.Node, seen map[*document.Node]bool) bool {
	for _, n := range nodes {
		if n == nil || seen[n] || c.budget.Steps(1) != nil {
			continue
		}
		seen[n] = true
		parts := append(slices.Clone(n.Elements), c.lookUpRef(n.Member("$ref")))
		for _, m := range n.Members {
			parts = append(parts, m.Node)
		}
		if SecureType(n.Member("type").Text()) || c.hasSecrets(parts, seen) {
			return true
		}
	}
	return false
}

func (c checker) checkAllowed(d definition, v expr.Value, at *document.Node) bool {
	allowed := d.member("allowedValues")
	if allowed == nil {
		return true
	}
	values := allowed.Value
	fine, err := c.isAmong(values, v)
	if v.Is(expr.Array) && !fine { // each element may be an allowed value instead
		fine = true
		for i := 0; fine && err == nil && i < v.Len(); i++ {
			fine, err = c.isAmong(values, v.Element(i))
			fine = fine || !v.Element(i).Known()
		}
	}
	switch {
	case err != nil:
		c.reportError(at, err)
	case !fine:
		c.fault(at, "%s has a value that is not allowed; allowed are %s", c.label, quoteList(values))
	}
	return fine && err == nil
}

// isAmong reports whether a value is one of the allowed values.
func (c checker) isAmong(values, v expr.Value) (bool, error) {
	if err := c.budget.Walk(values); err != nil {
		return false, err
	}
	return slices.ContainsFunc(values.Elements(), func(allowed expr.Value) bool {
		return allowed.Equal(v) || v.Is(expr.String) && strings.EqualFold(allowed.Text(), v.Text()) && v.Text() != "" // ARM ignores case here
	}), nil
}

func quoteList(values expr.Value) string {
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

func (c checker) checkBounds(d definition, v expr.Value, at *document.Node) bool {
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
		c.fault(at, "%s: %s must be at least %d%s", c.label, of, n.Value.Int(), is)
		return false
	}
	if n := d.member(most); n.Is(expr.Int) && size > n.Value.Int() {
		c.fault(at, "%s: %s must be at most %d%s", c.label, of, n.Value.Int(), is)
		return false
	}
	return true
}

// forPart returns a checker for a part of the value.
func (c checker) forPart(step string) checker {
	c.label += step
	return c
}

// checkPart checks a part against the definition at n.
func (c checker) checkPart(n *document.Node, v expr.Value, at *document.Node) (expr.Value, bool) {
	d, ok := c.resolve(n)
	if !ok {
		return v, false
	}
	return c.check(d, v, at)
}

func (c checker) checkArray(d definition, v expr.Value, at *document.Node, ok bool) (expr.Value, bool) {
	prefix, items := d.member("prefixItems"), d.member("items")
	if prefix == nil && !items.Is(expr.Object) && !isFalse(items) {
		return v, ok
	}
	var first []*document.Node // the types of the first elements; items applies to those after them
	if prefix != nil {
		first = prefix.Elements
	}
	if err := c.budget.Elements(v.Len()); err != nil {
		c.reportError(at, err)
		return v, false
	}
	elements := make([]expr.Value, v.Len())
	for i := range elements {
		elements[i] = v.Element(i)
		n := items
		if i < len(first) {
			n = first[i]
		}
		place := c.forPart(fmt.Sprintf("[%d]", i))
		switch {
		case isFalse(n):
			c.fault(elementAt(at, i), "%s is not allowed: its type has %d elements", place.label, len(first))
			ok = false
		case n.Is(expr.Object):
			var fine bool
			elements[i], fine = place.checkPart(n, elements[i], elementAt(at, i))
			ok = ok && fine
		}
	}
	if len(elements) < len(first) {
		c.fault(at, "%s has %d elements, and its type has %d", c.label, len(elements), len(first))
		ok = false
	}
	return sameSecrecy(expr.ArrayOf(elements...), v), ok
}

func isFalse(n *document.Node) bool { return n.Is(expr.Bool) && !n.Value.Bool() }

// elementAt returns the node to report faults of element i at: the element's own node, or at if the
// template does not write the element itself.
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

// sameSecrecy marks value as a secret if v, from whose parts it was built, is wholly one.
func sameSecrecy(value, v expr.Value) expr.Value {
	if v.WhollySecure() {
		return value.AsSecure()
	}
	return value
}

func (c checker) checkObject(d definition, v expr.Value, at *document.Node, ok bool) (expr.Value, bool) {
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
		c.reportError(at, err)
		return v, false
	}
	members := make([]expr.Member, 0, v.Len())
	for _, m := range v.Parts() {
		n := properties.Member(m.Name)
		if n == nil {
			n = more
		}
		place := c.forPart("." + m.Name)
		switch {
		case isFalse(n) || n == nil && isTrue(d.member("sealed")):
			c.fault(memberAt(at, m.Name), "%s is not allowed: its type has no such property", place.label)
			ok = false
		case n.Is(expr.Object):
			var fine bool
			m.Value, fine = place.checkPart(n, m.Value, memberAt(at, m.Name))
			ok = ok && fine
		}
		members = append(members, m)
	}
	return sameSecrecy(expr.ObjectOf(members...), v), c.checkRequired(properties, v, at) && ok
}

func isTrue(n *document.Node) bool { return n.Is(expr.Bool) && n.Value.Bool() }

// checkRequired reports the properties that a value lacks.
func (c checker) checkRequired(properties *document.Node, v expr.Value, at *document.Node) bool {
	ok := true
	if properties == nil {
		return ok
	}
	for _, m := range properties.Present() {
		if _, given := v.Member(m.Name); given {
			continue
		}
		d, resolved := c.forPart("." + m.Name).resolve(m.Node)
		if resolved && !d.nullable() {
			c.fault(at, "%s.%s is missing", c.label, m.Name)
		}
		ok = ok && resolved && d.nullable()
	}
	return ok
}

// discriminate chooses one of several types by the value of a property.
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
	c.fault(memberAt(at, name), "%s.%s must be one of %s: it chooses the type", c.label, name, strings.Join(names, ", "))
	return d, false
}
