package arm

import (
	"strings"
	"testing"
)

// Names are folded alike whether eight bytes at a time or one by one: with every byte at
// every place, behind others and beside characters of several bytes.
func TestNamesFoldAlikeByWordsAndByBytes(t *testing.T) {
	for _, beside := range []string{"a", "Z", "@", "[", "`", "{", "\x00", "\x7f", "Å", "K", "\xff", "ς"} {
		for n := range 19 {
			for at := range n + 1 {
				for b := range 256 {
					s := strings.Repeat(beside, at) + string([]byte{byte(b)}) + strings.Repeat(beside, n-at)
					const before = "KEPT"
					if got, want := string(AppendFold([]byte(before), s)), string(appendFold([]byte(before), s)); got != want {
						t.Fatalf("%q folds to %q, and byte by byte to %q", s, got, want)
					}
				}
			}
		}
	}
}
