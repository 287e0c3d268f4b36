package memory

import "hash/maphash"

// Key is a hash of a text in 128 bits. Each table has random seeds, so that a client cannot
// search for two texts with the same key.
type Key [2]uint64

// hashes computes the keys of a table.
type hashes [2]maphash.Seed

func newHashes() hashes { return hashes{maphash.MakeSeed(), maphash.MakeSeed()} }

// Key returns the key of a text.
func (h hashes) Key(text []byte) Key {
	return Key{maphash.Bytes(h[0], text), maphash.Bytes(h[1], text)}
}

// KeyOf returns the key of a string.
func (h hashes) KeyOf(text string) Key {
	return Key{maphash.String(h[0], text), maphash.String(h[1], text)}
}

// KeyBefore returns the key of text followed by rest. It copies neither.
func (h hashes) KeyBefore(text []byte, rest string) (k Key) {
	for i, seed := range h {
		var sum maphash.Hash
		sum.SetSeed(seed)
		_, _ = sum.Write(text)
		_, _ = sum.WriteString(rest)
		k[i] = sum.Sum64()
	}
	return k
}
