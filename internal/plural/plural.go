// Package plural writes numbers with their nouns.
package plural

import "strconv"

// Count returns a number with its noun: "1 region", "2 regions".
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(int64(n), 10) + " " + many
}
