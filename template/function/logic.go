package function

import (
	"cmp"
	"strings"

	"portico/template/expr"
)

func logicFunctions() []row {
	constant := func(b bool) call {
		return func(*expr.Call, []expr.Value) (expr.Value, error) { return expr.BoolOf(b), nil }
	}
	left, right := param("left", expr.Number|expr.String), param("right", expr.Number|expr.String)
	return []row{
		function("bool", "The boolean value of a string (true, false, 1 or 0, in any case) or of a number.",
			1, 1, toBool, param("value", expr.String|expr.Number|expr.Bool)),
		function("equals", "Whether two values are equal. Strings are compared with case, names of members without.",
			2, 2, equals, param("left", expr.Any), param("right", expr.Any)),
		function("false", "False.", 0, 0, constant(false)),
		function("greater", "Whether a number or string is greater than another.", 2, 2, compare(func(c int) bool { return c > 0 }), left, right),
		function("greaterOrEquals", "Whether it is greater or equal.", 2, 2, compare(func(c int) bool { return c >= 0 }), left, right),
		function("less", "Whether a number or string is less than another. Of letters that differ only in case, lower case is less.",
			2, 2, compare(func(c int) bool { return c < 0 }), left, right),
		function("lessOrEquals", "Whether it is less or equal.", 2, 2, compare(func(c int) bool { return c <= 0 }), left, right),
		function("like", "Whether a string matches a pattern, in which * stands for any text. Case does not matter.",
			2, 2, matches, param("text", expr.String), param("pattern", expr.String)),
		function("not", "The negation of a boolean.", 1, 1, not, param("value", expr.Bool)),
		function("true", "True.", 0, 0, constant(true)),
	}
}

func toBool(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	v := args[0]
	switch {
	case v.Is(expr.Bool):
		return v, nil
	case v.Is(expr.Number):
		return expr.BoolOf(v.Float() != 0), nil
	}
	switch strings.ToLower(strings.TrimSpace(v.Text())) {
	case "true", "1":
		return expr.BoolOf(true), nil
	case "false", "0":
		return expr.BoolOf(false), nil
	}
	return expr.Value{}, expr.Errorf("the string says no boolean: true, false, 1 and 0 are expected")
}

func equals(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	return expr.BoolOf(args[0].Equal(args[1])), nil
}

func compare(fits func(c int) bool) call {
	return func(_ *expr.Call, args []expr.Value) (expr.Value, error) {
		a, b := args[0], args[1]
		switch {
		case a.Is(expr.String) && b.Is(expr.String):
			return expr.BoolOf(fits(compareTexts(a.Text(), b.Text()))), nil
		case a.Is(expr.Int) && b.Is(expr.Int):
			return expr.BoolOf(fits(cmp.Compare(a.Int(), b.Int()))), nil
		case a.Is(expr.Number) && b.Is(expr.Number):
			return expr.BoolOf(fits(cmp.Compare(a.Float(), b.Float()))), nil
		}
		return expr.Value{}, expr.Errorf("both arguments must be numbers or both strings, and are of kinds %s and %s", a.Kind(), b.Kind())
	}
}

func matches(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	text, parts := foldCase(args[0].Text()), strings.Split(foldCase(args[1].Text()), "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return expr.BoolOf(ok && rest == ""), nil
	}
	end := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return expr.BoolOf(false), nil
		}
		rest = rest[at+len(part):]
	}
	return expr.BoolOf(strings.HasSuffix(rest, end)), nil
}

func not(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	return expr.BoolOf(!args[0].Bool()), nil
}
