package function

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"

	"portico/template/expr"
)

func stringFunctions() []row {
	text := param("text", expr.String)
	name := param("values", expr.String|expr.Int|expr.Bool)
	return []row{
		function("endsWith", "Whether a string ends with another. Case does not matter.", 2, 2, affixTest(strings.HasSuffix), text, param("part", expr.String)),
		function("fail", "Fails the deployment with a message.", 1, 1, fail, param("message", expr.String)),
		function("format", "A text with formatted values, in .NET's composite format and invariant culture: {0}, {1,10} with a width, {2:N2} or "+
			"{2:000} with a format. Of the custom formats of numbers, only zeros are supported.",
			1, many, formatText, param("format", expr.String), param("values", expr.Any)),
		function("guid", "A version-5 UUID of the texts: the same for the same texts.", 1, many, hashFunction(nameGUID), name),
		function("join", "The elements of an array as a text, separated by a delimiter.",
			2, 2, join, param("array", expr.Array), param("delimiter", expr.String)),
		function("newGuid", "A random UUID.", 0, 0, newGUID).defaultsOnly(),
		function("padLeft", "A text padded on the left to a length of at most 16.", 2, 3, padLeft,
			param("text", expr.String|expr.Int), param("length", expr.Int), param("character", expr.String)),
		function("replace", "A string with all occurrences of a text replaced by another.",
			3, 3, replace, text, param("old", expr.String), param("new", expr.String)),
		function("split", "The parts of a string that are separated by delimiters.",
			2, 2, split, text, param("delimiters", expr.String|expr.Array)),
		function("startsWith", "Whether a string starts with another. Case does not matter.", 2, 2, affixTest(strings.HasPrefix), text, param("part", expr.String)),
		function("string", "A value converted to a text; arrays and objects become JSON.", 1, 1, toString, param("value", expr.Any)),
		function("substring", "The part of a string from a start index, up to the end or with that length.",
			2, 3, substring, text, param("start", expr.Int), param("length", expr.Int)),
		function("toLower", "A string in lower case.", 1, 1, mapCase(unicode.ToLower), text),
		function("toUpper", "A string in upper case.", 1, 1, mapCase(unicode.ToUpper), text),
		function("trim", "A string without leading and trailing white space.", 1, 1, trim, text),
		function("uniqueString", "A hash of texts, in 13 letters and digits: the same for the same texts.", 1, many, hashFunction(uniqueName), name),
	}
}

// plainText converts a value as .NET's ToString does. Arrays and objects become JSON with single
// quotes, as in ARM.
func plainText(v expr.Value) string {
	switch v.Kind() {
	case expr.Null:
		return ""
	case expr.Bool:
		if v.Bool() {
			return "True"
		}
		return "False"
	case expr.String:
		return v.Text()
	case expr.Float:
		text, _ := formatNumber(number{isFloat: true, float: v.Float()}, "") // cannot fail without a format
		return text
	case expr.Array, expr.Object:
		return string(appendSingleQuoted(nil, v))
	}
	return v.JSON()
}

func appendSingleQuoted(to []byte, v expr.Value) []byte {
	switch v.Kind() {
	case expr.Array:
		to = append(to, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				to = append(to, ',')
			}
			to = appendSingleQuoted(to, e)
		}
		return append(to, ']')
	case expr.Object:
		to = append(to, '{')
		for i, m := range v.Members() {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendSingleQuoted(to, expr.StringOf(m.Name)), ':')
			to = appendSingleQuoted(to, m.Value)
		}
		return append(to, '}')
	case expr.String:
		quoted := v.JSON()
		inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
		return append(append(append(to, '\''), strings.ReplaceAll(inner, "'", `\'`)...), '\'')
	}
	return v.AppendJSON(to)
}

// chargedText converts a value to a text and charges for its size.
func chargedText(c *expr.Call, v expr.Value) (string, error) {
	if v.Is(expr.Array | expr.Object) {
		if err := c.Bytes(v.Size()); err != nil {
			return "", err
		}
	}
	return plainText(v), nil
}

func affixTest(has func(s, part string) bool) call {
	return func(_ *expr.Call, args []expr.Value) (expr.Value, error) {
		return expr.BoolOf(has(foldCase(args[0].Text()), foldCase(args[1].Text()))), nil
	}
}

func fail(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	return expr.Value{}, expr.Errorf("%s", args[0].Text())
}

func formatText(c *expr.Call, args []expr.Value) (expr.Value, error) {
	values := args[1:]
	text, err := formatComposite(args[0].Text(), len(values), c.Bytes, func(at int, format string) (string, error) {
		if v := values[at]; v.Is(expr.Number) {
			if err := c.Steps(stepsOfNumber(v)); err != nil {
				return "", err
			}
			return formatNumber(number{isFloat: v.Is(expr.Float), int: v.Int(), float: v.Float()}, format)
		}
		return chargedText(c, values[at])
	})
	if fault := formatFault(""); errors.As(err, &fault) {
		err = expr.Errorf("the format is invalid: '%v'", fault)
	}
	return expr.StringOf(text), err
}

// stepsOfNumber returns the cost of formatting a number. Floats cost much more, because all their
// digits are computed.
func stepsOfNumber(v expr.Value) int {
	if v.Is(expr.Float) {
		return 64
	}
	return 2
}

// hashFunction returns a function that hashes its arguments, joined by dashes, as guid and
// uniqueString do.
func hashFunction(hash func(name string) string) call {
	return func(c *expr.Call, args []expr.Value) (expr.Value, error) {
		texts, err := plainTexts(c, args, 1)
		if err != nil {
			return expr.Value{}, err
		}
		return expr.StringOf(hash(strings.Join(texts, "-"))), nil
	}
}

// plainTexts converts values to texts. It charges for joining them with a delimiter of that many
// bytes.
func plainTexts(c *expr.Call, values []expr.Value, delimiter int) ([]string, error) {
	all := make([]string, len(values))
	size := 0
	for i, v := range values {
		var err error
		if all[i], err = chargedText(c, v); err != nil {
			return nil, err
		}
		size += len(all[i]) + delimiter
	}
	return all, c.Bytes(size)
}

func newGUID(c *expr.Call, _ []expr.Value) (expr.Value, error) {
	return expr.StringOf(c.NewGUID()), nil
}

func join(c *expr.Call, args []expr.Value) (expr.Value, error) {
	delimiter := args[1].Text()
	texts, err := plainTexts(c, args[0].Elements(), len(delimiter))
	if err != nil {
		return expr.Value{}, err
	}
	return expr.StringOf(strings.Join(texts, delimiter)), nil
}

// maxPadded is ARM's limit for the length that padLeft pads to.
const maxPadded = 16

func padLeft(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	text, length, character := plainText(args[0]), args[1].Int(), " "
	if length < 0 || length > maxPadded {
		return expr.Value{}, expr.Errorf("total width must be a positive integer value and not greater than '%d', while '%d' was provided", maxPadded, length)
	}
	if len(args) == 3 {
		character = args[2].Text()
	}
	if utf16Length(character) != 1 {
		return expr.Value{}, expr.Errorf("the padding character must be a single character")
	}
	return expr.StringOf(strings.Repeat(character, max(0, int(length)-utf16Length(text))) + text), nil
}

func replace(c *expr.Call, args []expr.Value) (expr.Value, error) {
	text, from, to := args[0].Text(), args[1].Text(), args[2].Text()
	if from == "" {
		return expr.Value{}, expr.Errorf("what is replaced must not be empty")
	}
	if err := c.Bytes(len(text) + strings.Count(text, from)*max(0, len(to)-len(from))); err != nil {
		return expr.Value{}, err
	}
	return expr.StringOf(strings.ReplaceAll(text, from, to)), nil
}

func split(c *expr.Call, args []expr.Value) (expr.Value, error) {
	delimiters := []string{args[1].Text()}
	if args[1].Is(expr.Array) {
		delimiters = nil
		for _, d := range args[1].Elements() {
			if !d.Is(expr.String) {
				return expr.Value{}, expr.Errorf("its second parameter must be of type 'String or Array of Strings', and has an element of kind %s", d.Kind())
			}
			delimiters = append(delimiters, d.Text())
		}
	}
	text := args[0].Text()
	delimiters = slices.DeleteFunc(delimiters, func(d string) bool { return d == "" })
	if err := c.Text(len(text) * len(delimiters)); err != nil {
		return expr.Value{}, err
	}
	next := make([]int, len(delimiters)) // the next position of each delimiter
	for i, d := range delimiters {
		next[i] = indexFrom(text, d, 0)
	}
	var parts []expr.Value
	for from := 0; ; {
		if err := cmp.Or(c.Elements(1), c.Steps(len(delimiters)/8)); err != nil {
			return expr.Value{}, err
		}
		first := 0
		for i, at := range next {
			if at < from {
				next[i] = indexFrom(text, delimiters[i], from)
			}
			if next[i] < next[first] { // at the same position, the delimiter given first wins
				first = i
			}
		}
		if len(delimiters) == 0 || next[first] == len(text) {
			return expr.ArrayOf(append(parts, expr.StringOf(text[from:]))...), nil
		}
		parts = append(parts, expr.StringOf(text[from:next[first]]))
		from = next[first] + len(delimiters[first])
	}
}

// indexFrom returns the position of part at or after from, or the text's length.
func indexFrom(text, part string, from int) int {
	if at := strings.Index(text[from:], part); at >= 0 {
		return from + at
	}
	return len(text)
}

func toString(c *expr.Call, args []expr.Value) (expr.Value, error) {
	v := args[0]
	if !v.Is(expr.Array | expr.Object) {
		return expr.StringOf(plainText(v)), nil
	}
	if err := c.Bytes(v.Size()); err != nil {
		return expr.Value{}, err
	}
	return expr.StringOf(v.JSON()), nil
}

func substring(c *expr.Call, args []expr.Value) (expr.Value, error) {
	text := args[0].Text()
	size := int64(utf16Length(text))
	start := args[1].Int()
	length := size - start
	if len(args) == 3 {
		length = args[2].Int()
	}
	if start < 0 || length < 0 || start > size || length > size-start {
		return expr.Value{}, expr.Errorf("start and length must lie within the string, which has %d characters", size)
	}
	return sliceOf(c, args[0], utf16Offset(text, int(start)), utf16Offset(text, int(start+length)))
}

func mapCase(fold func(rune) rune) call {
	return func(c *expr.Call, args []expr.Value) (expr.Value, error) {
		if err := c.Bytes(len(args[0].Text())); err != nil {
			return expr.Value{}, err
		}
		return expr.StringOf(strings.Map(fold, args[0].Text())), nil
	}
}

func trim(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	return expr.StringOf(strings.TrimSpace(args[0].Text())), nil
}
