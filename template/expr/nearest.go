package expr

import "strings"

// longestGuess limits the length of names, because the time grows with its square.
const longestGuess = 60

// Nearest returns the name most similar to name, or "" if none is similar.
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

// distance returns the edit distance, or at least most if it is not smaller.
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
