package memory

import "testing"

func TestKeysAreApart(t *testing.T) {
	keys := newHashes()
	seen := make(map[Key]string)
	for _, text := range []string{"", "a", "b", "bc", "ab", "a/b"} {
		at := keys.KeyOf(text)
		if at != keys.Key([]byte(text)) {
			t.Errorf("%q has two keys", text)
		}
		for cut := range len(text) + 1 {
			if keys.KeyBefore([]byte(text[:cut]), text[cut:]) != keys.KeyBefore(nil, text) {
				t.Errorf("%q has two keys, by where it is cut", text)
			}
		}
		if other, taken := seen[at]; taken {
			t.Errorf("%q has the key of %q", text, other)
		}
		seen[at] = text
	}
}
