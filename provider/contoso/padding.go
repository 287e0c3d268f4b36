package contoso

import (
	"encoding/base64"
	"math/rand/v2"
)

// paddingMark parts a skip token from what makes it long.
const paddingMark = "."

// padding returns n bytes behind a skip token that nothing can pack, as state that a
// provider has encrypted.
func padding(n int) string {
	random := rand.NewChaCha8([32]byte{})
	state := make([]byte, n)
	_, _ = random.Read(state) // never fails
	return paddingMark + base64.RawURLEncoding.EncodeToString(state)[:n]
}
