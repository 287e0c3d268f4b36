package expr

import "strings"

// longestGuess bounds the names that are guessed: the time grows with the square of a name's length.
const longestGuess = 60

// Nearest is the name that was probably meant; empty where none is near.
func Nearest(name string, names []string) string {
	if len(name) > longestGuess {
		return ""
	}
	name = strings.ToLower(name)
	best, least := "", len(name)/3+1
	for _, candidate := range names {
		if d := distance(name, strings.ToLower(candidate), least); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace; at least most where there
// are that many.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
