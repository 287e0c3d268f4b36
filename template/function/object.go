package function

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

func objectFunctions() []row {
	return []row{
		function("createObject", "An object of alternating names and values.", 0, many, createObject,
			unwalkedParam("names and values", expr.Any|expr.Pending)).passesThrough(),
		function("items", "An object's members as an array of objects with key and value, sorted by name.",
			1, 1, items, param("object", expr.Object)).passesThrough(),
		function("json", "The value of a JSON text; comments, single quotes and unquoted names are allowed.",
			1, 1, readJSON, param("text", expr.String)),
		function("null", "Null.", 0, 0, func(*expr.Call, []expr.Value) (expr.Value, error) { return expr.Value{}, nil }),
		function("objectKeys", "The names of an object's members, sorted.", 1, 1, objectKeys, param("object", expr.Object)).passesThrough(),
		function("shallowMerge", "An object with the members of all objects in an array. If a name is repeated, the last value counts.",
			1, 1, shallowMerge, textParam("objects", expr.Array)).passesThrough(),
		function("tryGet", "A member or element by its name or index, and so on with further keys; null if something is absent. A key may be an "+
			"object: with fromEnd true, its value counts from the end.",
			2, many, tryGet, unwalkedParam("value", expr.Any), param("keys", expr.Int|expr.String|expr.Object)).passesThrough(),
	}
}

func createObject(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if len(args)%2 != 0 {
		return expr.Value{}, expr.Errorf("names and values must come in pairs, and there are %d arguments", len(args))
	}
	if err := c.Elements(len(args) / 2); err != nil {
		return expr.Value{}, err
	}
	members := make([]expr.Member, len(args)/2)
	secret := false // a name is a secret: names cannot be marked, so the whole object is
	for i := range members {
		secret = secret || args[2*i].Secure()
		if args[2*i].Is(expr.Pending) {
			return pendingCall(c, args)
		}
		if !args[2*i].Is(expr.String) {
			return expr.Value{}, expr.Errorf("argument %d must be a name, a string, and is of kind %s", 2*i+1, args[2*i].Kind())
		}
		members[i] = expr.Member{Name: args[2*i].Text(), Value: args[2*i+1]}
	}
	if err := c.Names(members); err != nil {
		return expr.Value{}, err
	}
	if secret {
		return expr.ObjectOf(members...).AsSecure(), nil
	}
	return expr.ObjectOf(members...), nil
}

// sortedMembers returns an object's members sorted by name, ignoring case; the sort is stable.
func sortedMembers(c *expr.Call, object expr.Value) ([]expr.Member, error) {
	if err := c.Elements(2 * object.Len()); err != nil {
		return nil, err
	}
	members := object.Parts()
	slices.SortStableFunc(members, func(a, b expr.Member) int { return compareWithoutCase(a.Name, b.Name) })
	return members, nil
}

func items(c *expr.Call, args []expr.Value) (expr.Value, error) {
	members, err := sortedMembers(c, args[0])
	list := make([]expr.Value, len(members))
	for i, m := range members {
		list[i] = expr.ObjectOf(expr.Member{Name: "key", Value: expr.StringOf(m.Name)}, expr.Member{Name: "value", Value: m.Value})
	}
	return expr.ArrayOf(list...), err
}

func objectKeys(c *expr.Call, args []expr.Value) (expr.Value, error) {
	members, err := sortedMembers(c, args[0])
	list := make([]expr.Value, len(members))
	for i, m := range members {
		list[i] = inheritSecrecy(expr.StringOf(m.Name), args[0])
	}
	return expr.ArrayOf(list...), err
}

// jsonSize limits the size of a parsed value per byte of its text.
const jsonSize = 64

func readJSON(c *expr.Call, args []expr.Value) (expr.Value, error) {
	text := args[0].Text()
	if err := c.Bytes(jsonSize * len(text)); err != nil {
		return expr.Value{}, err
	}
	d, faults := document.Read([]byte(text), document.Relaxed, "")
	if d == nil {
		return expr.Value{}, expr.Errorf("the text is no JSON: at line %d, column %d, %s", faults[0].Line, faults[0].Column, faults[0].Message)
	}
	return d.Root.Value, nil
}

func shallowMerge(c *expr.Call, args []expr.Value) (expr.Value, error) {
	var members []expr.Member
	for i, object := range elements(args[0]) {
		if object.Is(expr.Pending) {
			return pendingCall(c, args)
		}
		if !object.Is(expr.Object) {
			return expr.Value{}, expr.Errorf("each element of the array must be an object, and element %d is of kind %s", i, object.Kind())
		}
		if err := c.Object(object.Members()); err != nil {
			return expr.Value{}, err
		}
		members = append(members, object.Parts()...)
	}
	return expr.ObjectOf(members...), nil
}

// mergeObjects merges objects recursively; arrays are not merged.
func mergeObjects(c *expr.Call, objects []expr.Value) (expr.Value, error) {
	merged := objects[0]
	for _, object := range objects[1:] {
		var err error
		if merged, err = merge(c, merged, object); err != nil {
			if errors.Is(err, errUnknownMember) {
				return pendingCall(c, objects)
			}
			return expr.Value{}, err
		}
	}
	return merged, nil
}

// errUnknownMember means that a member is Pending, so it is not known whether it must be merged.
var errUnknownMember = errors.New("a member needs an answer")

func merge(c *expr.Call, left, right expr.Value) (expr.Value, error) {
	for _, object := range []expr.Value{left, right} {
		if err := c.Object(object.Members()); err != nil {
			return expr.Value{}, err
		}
	}
	members := left.Parts()
	for _, m := range right.Parts() {
		const mergeable = expr.Object | expr.Pending
		if there, ok := left.MemberExact(m.Name); ok && there.Is(mergeable) && m.Value.Is(mergeable) {
			if there.Is(expr.Pending) || m.Value.Is(expr.Pending) {
				return expr.Value{}, errUnknownMember
			}
			var err error
			if m.Value, err = merge(c, there, m.Value); err != nil {
				return expr.Value{}, err
			}
		}
		members = append(members, m)
	}
	return expr.ObjectOf(members...), nil
}

func commonMembers(c *expr.Call, objects []expr.Value) (expr.Value, error) {
	common := slices.Clone(objects[0].Members())
	for _, object := range objects[1:] {
		common = slices.DeleteFunc(common, func(m expr.Member) bool {
			other, ok := object.Member(m.Name)
			return !ok || !m.Value.Equal(other)
		})
	}
	return expr.ObjectOf(common...), c.Elements(len(common))
}

func tryGet(c *expr.Call, args []expr.Value) (expr.Value, error) {
	v := args[0]
	for i, by := range args[1:] {
		if v.Is(expr.Pending) { // a part of the given value
			return inheritSecrecy(expr.PendingOf(expr.Invoke("tryGet", append([]expr.Value{v}, args[i+1:]...)...)), v), c.Elements(len(args))
		}
		next, err := memberByKey(v, by)
		if err != nil || next.Is(expr.Null) {
			return expr.Value{}, err
		}
		v = next
	}
	return v, nil
}

// memberByKey returns the part of a value that a key selects, or null.
func memberByKey(v, by expr.Value) (expr.Value, error) {
	if by.Is(expr.Object) {
		at, _ := by.Member("value")
		if fromEnd, _ := by.Member("fromEnd"); fromEnd.Bool() && at.Is(expr.Int) {
			at = expr.IntOf(int64(v.Len()) - at.Int())
		}
		by = at
	}
	switch {
	case v.Is(expr.Null):
		return expr.Value{}, nil
	case v.Is(expr.Object) && by.Is(expr.String):
		part, _ := v.Member(by.Text())
		return part, nil
	case v.Is(expr.Array) && by.Is(expr.Int):
		if at := by.Int(); at >= 0 && at < int64(v.Len()) {
			return v.Element(int(at)), nil
		}
		return expr.Value{}, nil
	}
	return expr.Value{}, expr.Errorf("a value of kind %s has nothing that a key of kind %s finds", v.Kind(), by.Kind())
}

// weights is the sort order of ASCII in .NET's invariant culture: signs, then digits, then letters,
// ignoring case.
var weights = func() (w [256]uint8) {
	const order = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"
	for c := range w {
		w[c] = uint8(c)
		if c >= 'A' && c <= 'Z' {
			w[c] |= 0x20
		}
	}
	for at, c := range []byte(order) {
		w[c] = uint8('0' + 1 + at - len(order))
	}
	return w
}()

// compareTexts compares as .NET's invariant culture does. If texts differ only in case, lower case
// comes first, unlike in ASCII.
func compareTexts(a, b string) int {
	return cmp.Or(compareWithoutCase(a, b), strings.Compare(b, a))
}

func compareWithoutCase(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := weights[a[i]], weights[b[i]]; x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}
