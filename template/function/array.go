package function

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"portico/template/expr"
)

func arrayFunctions() []row {
	return []row{
		function("array", "The value itself if it is an array, otherwise an array with the value as its only element.",
			1, 1, array, unwalkedParam("value", expr.Any)).passesThrough(),
		function("concat", "Concatenates strings or arrays.", 1, many, concat,
			textParam("values", expr.String|expr.Number|expr.Bool|expr.Array)).passesThrough(),
		function("contains", "Whether an array contains an element, an object a member with that name, or a string a substring. Strings are "+
			"compared with case, names without.",
			2, 2, contains, param("container", expr.Array|expr.Object|expr.String), param("item", expr.Any)),
		function("createArray", "An array of the arguments.", 0, many, createArray, unwalkedParam("values", expr.Any|expr.Pending)).passesThrough(),
		function("distinct", "The array without duplicates.", 1, 1, distinct, param("array", expr.Array)),
		function("empty", "Whether an array, object or string is empty, or null.",
			1, 1, empty, unwalkedParam("value", expr.Array|expr.Object|expr.String|expr.Null)).passesThrough(),
		function("first", "The first element of an array, null if it has none; the first character of a string.",
			1, 1, first, unwalkedParam("value", expr.Array|expr.String)).passesThrough(),
		function("flatten", "Concatenates the arrays in an array.", 1, 1, flatten, textParam("array", expr.Array)).passesThrough(),
		function("indexFromEnd", "The element of an array at a place counted from the end; the last one has place 1.", 2, 2, indexFromEnd,
			unwalkedParam("array", expr.Array), param("place", expr.Int)).passesThrough(),
		function("indexOf", "The index of the first occurrence of an element in an array, or of a substring, compared without case; -1 if there "+
			"is none.", 2, 2, indexOf,
			param("container", expr.Array|expr.String), param("item", expr.Any)),
		function("intersection", "The elements that are in all arrays, or the members that are equal in all objects.", 2, many, intersection,
			param("values", expr.Array|expr.Object)),
		function("last", "The last element of an array, null if it has none; the last character of a string.",
			1, 1, last, unwalkedParam("value", expr.Array|expr.String)).passesThrough(),
		function("lastIndexOf", "As indexOf, but the last occurrence.", 2, 2, lastIndexOf, param("container", expr.Array|expr.String), param("item", expr.Any)),
		function("length", "The number of an array's elements, of an object's members, or of a string's characters (UTF-16 units).", 1, 1, length,
			textParam("value", expr.Array|expr.Object|expr.String)).passesThrough(),
		function("max", "The largest of the integers, given as arguments or in an array.",
			1, many, extreme(func(a, b int64) bool { return a > b }), param("values", expr.Int|expr.Array)),
		function("min", "The smallest of the integers, given as arguments or in an array.",
			1, many, extreme(func(a, b int64) bool { return a < b }), param("values", expr.Int|expr.Array)),
		function("range", "An array of consecutive integers, at most 10,000.", 2, 2, intRange, param("first", expr.Int), param("count", expr.Int)),
		function("skip", "An array or string without its first elements or characters.", 2, 2, skip,
			textParam("value", expr.Array|expr.String), param("count", expr.Int)).passesThrough(),
		function("take", "The first elements of an array, or the first characters of a string.", 2, 2, take,
			textParam("value", expr.Array|expr.String), param("count", expr.Int)).passesThrough(),
		function("tryIndexFromEnd", "As indexFromEnd, and then as tryGet with the further keys; null if something is absent.", 2, many, tryIndexFromEnd,
			unwalkedParam("array", expr.Array|expr.Null), param("place", expr.Int), param("keys", expr.Int|expr.String|expr.Object)).passesThrough(),
		function("union", "The elements of all arrays without duplicates, or the members of all objects. If a name is repeated, the last value "+
			"counts; nested objects are merged in the same way.",
			2, many, union, param("values", expr.Array|expr.Object)).passesThrough(),
	}
}

// inheritSecrecy marks part as a secret if it was computed from a whole with secrets.
func inheritSecrecy(part, whole expr.Value) expr.Value {
	if whole.Secure() {
		return part.AsSecure()
	}
	return part
}

// sizeResult marks a result about the size of a value as a secret if the value is a secret string.
// The sizes of arrays and objects with secrets are public.
func sizeResult(of, result expr.Value) expr.Value {
	if of.Is(expr.String) {
		return inheritSecrecy(result, of)
	}
	return result
}

// pendingCall returns the call itself as a Pending value, because the function needs to know an
// argument that is Pending.
func pendingCall(c *expr.Call, args []expr.Value) (expr.Value, error) {
	v := expr.PendingOf(expr.Invoke(c.Name, args...))
	for _, arg := range args {
		v = inheritSecrecy(v, arg)
	}
	return v, c.Elements(len(args))
}

// elements iterates over an array. Elements of a secret array are secrets.
func elements(array expr.Value) iter.Seq2[int, expr.Value] {
	return func(yield func(int, expr.Value) bool) {
		for i := range array.Len() {
			if !yield(i, array.Element(i)) {
				return
			}
		}
	}
}

// subArray returns the elements from one index up to another.
func subArray(array expr.Value, from, to int) []expr.Value {
	list := make([]expr.Value, to-from)
	for i := range list {
		list[i] = array.Element(from + i)
	}
	return list
}

func array(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if args[0].Is(expr.Array) {
		return args[0], nil
	}
	return createArray(c, args)
}

func createArray(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if err := c.Elements(len(args)); err != nil {
		return expr.Value{}, err
	}
	return expr.ArrayOf(args...), nil
}

func concat(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if !sameKind(args, expr.Array) {
		return expr.Value{}, expr.Errorf("either all or none of the arguments must be arrays")
	}
	if args[0].Is(expr.Array) {
		return concatArrays(c, args)
	}
	parts, err := plainTexts(c, args, 0)
	if err != nil {
		return expr.Value{}, err
	}
	text := expr.StringOf(strings.Join(parts, ""))
	for _, arg := range args {
		text = inheritSecrecy(text, arg)
	}
	return text, nil
}

// concatArrays concatenates arrays.
func concatArrays(c *expr.Call, arrays []expr.Value) (expr.Value, error) {
	n := 0
	for _, a := range arrays {
		n += a.Len()
	}
	if err := c.Elements(n); err != nil {
		return expr.Value{}, err
	}
	all := make([]expr.Value, 0, n)
	for _, a := range arrays {
		for i := range a.Len() {
			all = append(all, a.Element(i))
		}
	}
	return expr.ArrayOf(all...), nil
}

// sameKind reports whether all or none of the values have one of the kinds.
func sameKind(values []expr.Value, kinds expr.Kind) bool {
	for _, v := range values {
		if v.Is(kinds) != values[0].Is(kinds) {
			return false
		}
	}
	return true
}

func contains(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	container, item := args[0], args[1]
	switch {
	case container.Is(expr.Array):
		return expr.BoolOf(indexOfElement(container, item) >= 0), nil
	case !item.Is(expr.String | expr.Int):
		return expr.Value{}, expr.Errorf("what is looked for in a value of kind %s must be a string, and is of kind %s", container.Kind(), item.Kind())
	case container.Is(expr.Object):
		_, ok := container.Member(plainText(item))
		return expr.BoolOf(ok), nil
	}
	return expr.BoolOf(strings.Contains(container.Text(), plainText(item))), nil
}

// indexOfElement returns the index of the first equal element, or -1.
func indexOfElement(array, item expr.Value) int {
	return slices.IndexFunc(array.Elements(), item.Equal)
}

// canonicalKey returns a text that is the same for equal values.
func canonicalKey(v expr.Value) string { return string(appendKey(nil, v)) }

func appendKey(to []byte, v expr.Value) []byte {
	switch v.Kind() {
	case expr.Float:
		if f := v.Float(); f == math.Trunc(f) && math.Abs(f) < 1<<62 {
			return strconv.AppendInt(to, int64(f), 10)
		}
	case expr.Array:
		to = append(to, '[')
		for _, e := range v.Elements() {
			to = append(appendKey(to, e), ',')
		}
		return append(to, ']')
	case expr.Object:
		members := slices.Clone(v.Members())
		slices.SortFunc(members, func(a, b expr.Member) int {
			return cmp.Or(strings.Compare(foldCase(a.Name), foldCase(b.Name)), strings.Compare(a.Name, b.Name))
		})
		to = append(to, '{')
		for _, m := range members {
			to = append(strconv.AppendQuote(to, foldCase(m.Name)), ':')
			to = append(appendKey(to, m.Value), ',')
		}
		return append(to, '}')
	}
	return v.AppendJSON(to)
}

// canonicalKeys returns the keys of all elements, and charges for them.
func canonicalKeys(c *expr.Call, array expr.Value) ([]string, error) {
	if err := c.Bytes(array.Size()); err != nil {
		return nil, err
	}
	all := make([]string, array.Len())
	for i, e := range array.Elements() {
		all[i] = canonicalKey(e)
	}
	return all, nil
}

// distinctElements returns the distinct elements of arrays, with their keys.
func distinctElements(c *expr.Call, arrays []expr.Value) (all []expr.Value, names []string, err error) {
	seen := map[string]bool{}
	for _, a := range arrays {
		own, err := canonicalKeys(c, a)
		if err != nil {
			return nil, nil, err
		}
		for i, name := range own {
			if !seen[name] {
				seen[name] = true
				all, names = append(all, a.Element(i)), append(names, name)
			}
		}
	}
	return all, names, nil
}

func distinct(c *expr.Call, args []expr.Value) (expr.Value, error) {
	all, _, err := distinctElements(c, args)
	if err != nil {
		return expr.Value{}, err
	}
	return expr.ArrayOf(all...), c.Elements(len(all))
}

func empty(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	return sizeResult(args[0], expr.BoolOf(args[0].Len() == 0 && args[0].Text() == "")), nil
}

func first(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	v := args[0]
	if v.Is(expr.String) {
		return inheritSecrecy(expr.StringOf(v.Text()[:utf16Offset(v.Text(), 1)]), v), nil
	}
	if v.Len() == 0 {
		return expr.Value{}, nil
	}
	return v.Element(0), nil
}

func last(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	v := args[0]
	if v.Is(expr.String) {
		return inheritSecrecy(expr.StringOf(lastCharacter(v.Text())), v), nil
	}
	if v.Len() == 0 {
		return expr.Value{}, nil
	}
	return v.Element(v.Len() - 1), nil
}

func flatten(c *expr.Call, args []expr.Value) (expr.Value, error) {
	for i, a := range args[0].Elements() {
		if a.Is(expr.Pending) {
			return pendingCall(c, args)
		}
		if !a.Is(expr.Array) {
			return expr.Value{}, expr.Errorf("each element of the array must be an array, and element %d is of kind %s", i, a.Kind())
		}
	}
	return concatArrays(c, subArray(args[0], 0, args[0].Len()))
}

func indexFromEnd(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	v, place := args[0], args[1].Int()
	if place < 1 || place > int64(v.Len()) {
		return expr.Value{}, expr.Errorf("the array has %d elements, and place %d from its end is none of them", v.Len(), place)
	}
	return v.Element(v.Len() - int(place)), nil
}

func tryIndexFromEnd(c *expr.Call, args []expr.Value) (expr.Value, error) {
	v, place := args[0], args[1].Int()
	if place < 1 || place > int64(v.Len()) {
		return expr.Value{}, nil
	}
	return tryGet(c, append([]expr.Value{v.Element(v.Len() - int(place))}, args[2:]...))
}

// foldCase maps each rune to upper case, which keeps the positions of runes.
func foldCase(s string) string { return strings.Map(unicode.ToUpper, s) }

func indexOf(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	if args[0].Is(expr.Array) {
		return expr.IntOf(int64(indexOfElement(args[0], args[1]))), nil
	}
	return textIndex(args, strings.Index)
}

func lastIndexOf(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	array := args[0]
	if !array.Is(expr.Array) {
		return textIndex(args, strings.LastIndex)
	}
	at := array.Len() - 1
	for at >= 0 && !args[1].Equal(array.Element(at)) {
		at--
	}
	return expr.IntOf(int64(at)), nil
}

func textIndex(args []expr.Value, index func(s, part string) int) (expr.Value, error) {
	if !args[1].Is(expr.String) {
		return expr.Value{}, expr.Errorf("what is looked for in a string must be a string, and is of kind %s", args[1].Kind())
	}
	text := foldCase(args[0].Text())
	at := index(text, foldCase(args[1].Text()))
	if at > 0 {
		at = utf16Index(text, at)
	}
	return expr.IntOf(int64(at)), nil
}

func intersection(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if !sameKind(args, expr.Array) {
		return expr.Value{}, expr.Errorf("the arguments must be all arrays or all objects")
	}
	if args[0].Is(expr.Object) {
		return commonMembers(c, args)
	}
	common, names, err := distinctElements(c, args[:1])
	if err != nil {
		return expr.Value{}, err
	}
	for _, array := range args[1:] {
		others, err := canonicalKeys(c, array)
		if err != nil {
			return expr.Value{}, err
		}
		there := map[string]bool{}
		for _, name := range others {
			there[name] = true
		}
		kept := 0
		for i, name := range names {
			if there[name] {
				names[kept], common[kept] = name, common[i]
				kept++
			}
		}
		names, common = names[:kept], common[:kept]
	}
	return expr.ArrayOf(common...), c.Elements(len(common))
}

func length(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	n := args[0].Len()
	if args[0].Is(expr.String) {
		n = utf16Length(args[0].Text())
	}
	return sizeResult(args[0], expr.IntOf(int64(n))), nil
}

func extreme(better func(a, b int64) bool) call {
	return func(_ *expr.Call, args []expr.Value) (expr.Value, error) {
		if len(args) == 1 && args[0].Is(expr.Array) {
			args = args[0].Elements()
		}
		if len(args) == 0 {
			return expr.Value{}, expr.Errorf("the array must have an element")
		}
		best := args[0]
		for _, v := range args {
			if !v.Is(expr.Int) {
				return expr.Value{}, expr.Errorf("all values must be integers, and one is of kind %s", v.Kind())
			}
			if better(v.Int(), best.Int()) {
				best = v
			}
		}
		return best, nil
	}
}

// maxRange is ARM's limit for the count of range().
const maxRange = 10_000

func intRange(c *expr.Call, args []expr.Value) (expr.Value, error) {
	from, count := args[0].Int(), args[1].Int()
	if count < 0 || count > maxRange {
		return expr.Value{}, expr.Errorf("the count must be 0 to %d, and is %d", maxRange, count)
	}
	if from < math.MinInt32 || from > math.MaxInt32-count {
		return expr.Value{}, expr.Errorf("the integers must be %d to %d", math.MinInt32, math.MaxInt32)
	}
	if err := c.Elements(int(count)); err != nil {
		return expr.Value{}, err
	}
	list := make([]expr.Value, count)
	for i := range list {
		list[i] = expr.IntOf(from + int64(i))
	}
	return expr.ArrayOf(list...), nil
}

func skip(c *expr.Call, args []expr.Value) (expr.Value, error) {
	v, n := args[0], int(min(max(args[1].Int(), 0), math.MaxInt32))
	if v.Is(expr.String) {
		return sliceOf(c, v, utf16Offset(v.Text(), n), len(v.Text()))
	}
	return sliceOf(c, v, min(n, v.Len()), v.Len())
}

func take(c *expr.Call, args []expr.Value) (expr.Value, error) {
	v, n := args[0], int(min(max(args[1].Int(), 0), math.MaxInt32))
	if v.Is(expr.String) {
		return sliceOf(c, v, 0, utf16Offset(v.Text(), n))
	}
	return sliceOf(c, v, 0, min(n, v.Len()))
}

// sliceOf returns part of an array or string. from and to are element indexes or byte offsets.
func sliceOf(c *expr.Call, v expr.Value, from, to int) (expr.Value, error) {
	if v.Is(expr.String) {
		return inheritSecrecy(expr.StringOf(v.Text()[from:to]), v), c.Bytes(to - from)
	}
	if err := c.Elements(to - from); err != nil {
		return expr.Value{}, err
	}
	return expr.ArrayOf(subArray(v, from, to)...), nil
}

func union(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if !sameKind(args, expr.Array) {
		return expr.Value{}, expr.Errorf("the arguments must be all arrays or all objects")
	}
	if args[0].Is(expr.Object) {
		return mergeObjects(c, args)
	}
	for _, a := range args {
		if !a.Known() { // an unknown element may duplicate another
			return pendingCall(c, args)
		}
	}
	return distinct(c, args)
}
