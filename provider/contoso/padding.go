package contoso

import (
	"encoding/base64"
	"math/rand/v2"
)

// paddingMark separates a skip token from its padding.
const paddingMark = "."

// padding returns n bytes to append to a skip token. They cannot be
// compressed, like state that a provider has encrypted.
func padding(n int) string {
	random := rand.NewChaCha8([32]byte{})
	state := make([]byte, n)
	_, _ = random.Read(state) // never fails
	return paddingMark + base64.RawURLEncoding.EncodeToString(state)[:n]
}
