package inventory

import "strings"

// amongAtOnce is how many values one statement names.
const amongAtOnce = 1024

// among is the end of a condition by which a column holds one of some values, at most
// amongAtOnce, with its arguments. There is one text for each power of two, so that few
// are prepared.
func among(column string, values []string, key func(string) string) (condition string, args []any) {
	values = values[:min(len(values), amongAtOnce)]
	n := 1
	for n < len(values) {
		n *= 2
	}
	for i := range n {
		args = append(args, key(values[min(i, len(values)-1)]))
	}
	return " AND " + column + " IN (?" + strings.Repeat(", ?", n-1) + ")", args
}
