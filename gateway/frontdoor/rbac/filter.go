package rbac

import (
	"fmt"
	"strings"

	"portico/arm"
	"portico/routing"
)

// term is a condition of a $filter: "principalId eq 'text'", "assignedTo('text')" or
// "atScope()".
type term struct {
	field string // a field or function, folded; a function ends in parentheses
	text  string
}

// filterOf returns the conditions of a request's $filter, which must all hold. known are
// the fields and functions that the list supports.
func filterOf(q *routing.Request, known ...string) ([]term, error) {
	text, _ := q.Query.Get("$filter")
	var terms []term
	for rest := strings.TrimSpace(text); rest != ""; {
		t, after, ok := readTerm(rest)
		if !ok || !isKnown(t, known) {
			return nil, arm.NewError(arm.InvalidQueryParameter, "$filter", fmt.Sprintf("it joins these by and: %s", strings.Join(known, ", "))).WithTarget("$filter")
		}
		terms = append(terms, t)
		if rest = after; rest == "" {
			break
		}
		word, behind, spaced := strings.Cut(rest, " ")
		if rest = strings.TrimSpace(behind); !spaced || !strings.EqualFold(word, "and") || rest == "" {
			return nil, arm.NewError(arm.InvalidQueryParameter, "$filter", "only and joins its conditions").WithTarget("$filter")
		}
	}
	return terms, nil
}

func isKnown(t term, known []string) bool {
	for _, k := range known {
		if arm.EqualFold(t.field, k) {
			return true
		}
	}
	return false
}

// readTerm reads the first condition of a text, and returns the rest.
func readTerm(s string) (t term, rest string, ok bool) {
	n := strings.IndexAny(s, " (")
	if n <= 0 {
		return t, "", false
	}
	t.field, rest = arm.Fold(s[:n]), strings.TrimSpace(s[n:])
	if inside, function := strings.CutPrefix(rest, "("); function {
		t.field += "()"
		if rest = strings.TrimSpace(inside); !strings.HasPrefix(rest, ")") {
			if t.text, rest, ok = readText(rest); !ok {
				return t, "", false
			}
		}
		rest, ok = strings.CutPrefix(rest, ")")
		return t, strings.TrimSpace(rest), ok
	}
	verb, operand, spaced := strings.Cut(rest, " ")
	if !spaced || !strings.EqualFold(verb, "eq") {
		return t, "", false
	}
	t.text, rest, ok = readText(strings.TrimSpace(operand))
	return t, rest, ok
}

// readText reads a quoted text; two quotes in it stand for one.
func readText(s string) (text, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "'")
	if !ok {
		return "", "", false
	}
	var b strings.Builder
	for {
		before, behind, closed := strings.Cut(s, "'")
		b.WriteString(before)
		if !closed {
			return "", "", false
		}
		if s, ok = strings.CutPrefix(behind, "'"); !ok {
			return b.String(), strings.TrimSpace(behind), true
		}
		b.WriteByte('\'')
	}
}
