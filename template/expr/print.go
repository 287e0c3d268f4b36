package expr

import (
	"strconv"
	"strings"
)

// Print returns the expression's text, without brackets. Parsing it yields the same expression.
func Print(n Node) string { return string(appendNode(nil, n)) }

func appendNode(to []byte, n Node) []byte {
	switch n := n.(type) {
	case *Literal:
		return appendLiteral(to, n.Value)
	case *Invocation:
		if n.Namespace != "" {
			to = append(append(to, n.Namespace...), '.')
		}
		to = append(append(to, n.Name...), '(')
		for i, arg := range n.Args {
			to = comma(to, i)
			to = appendNode(to, arg)
		}
		return append(to, ')')
	case *Property:
		return append(append(appendNode(to, n.Of), '.'), n.Name...)
	case *Element:
		return append(appendNode(append(appendNode(to, n.Of), '['), n.Key), ']')
	}
	return to
}

func appendLiteral(to []byte, v Value) []byte {
	switch v.Kind() {
	case Bool:
		return append(strconv.AppendBool(to, v.Bool()), "()"...)
	case Int:
		return strconv.AppendInt(to, v.Int(), 10)
	case Float:
		return append(appendFloat(append(to, "json('"...), v.Float()), "')"...)
	case String:
		return appendQuoted(to, v.text)
	case Pending:
		return appendNode(to, v.Expression())
	case Array:
		to = append(to, "createArray("...)
		for i, e := range v.Elements() {
			to = appendLiteral(comma(to, i), e)
		}
		return append(to, ')')
	case Object:
		to = append(to, "createObject("...)
		for i, m := range v.Members() {
			to = append(appendQuoted(comma(to, i), m.Name), ',')
			to = appendLiteral(to, m.Value)
		}
		return append(to, ')')
	}
	return append(to, "null()"...)
}

func comma(to []byte, at int) []byte {
	if at > 0 {
		return append(to, ',')
	}
	return to
}

func appendQuoted(to []byte, s string) []byte {
	to = append(to, '\'')
	to = append(to, strings.ReplaceAll(s, "'", "''")...)
	return append(to, '\'')
}
