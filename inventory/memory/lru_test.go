package memory

import "testing"

func TestKeysAreApart(t *testing.T) {
	table, err := newLRUTable[int](tableBounds{Entries: 1})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[Key]string)
	for _, text := range []string{"", "a", "b", "bc", "ab", "a/b"} {
		at := table.KeyOf(text)
		if at != table.Key([]byte(text)) {
			t.Errorf("%q has two keys", text)
		}
		for cut := range len(text) + 1 {
			if table.KeyBefore([]byte(text[:cut]), text[cut:]) != table.KeyBefore(nil, text) {
				t.Errorf("%q has two keys, by where it is cut", text)
			}
		}
		if other, taken := seen[at]; taken {
			t.Errorf("%q has the key of %q", text, other)
		}
		seen[at] = text
	}
}
