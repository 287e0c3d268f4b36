package routing

import (
	"crypto/sha256"
	"encoding/hex"

	"portico/arm"
)

// PollToken returns the key under which a polling URL is recorded: by path and
// query alone, since clients may send it to any of the front door's names. The
// api-version is left out, for some clients set their own.
func PollToken(path string, q Query) string {
	sum := sha256.Sum256([]byte(arm.Fold(path) + "?" + q.Without("api-version")))
	return hex.EncodeToString(sum[:])
}
