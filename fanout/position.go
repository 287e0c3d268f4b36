package fanout

import "crypto/sha256"

// SealPosition returns a skip token for a position in a list that the front door
// serves itself. The token is valid only for the list and the principal of r, with the
// same filter and api-version.
func (l *Lister) SealPosition(r Request, position string) string {
	return l.options.Keys.seal([]byte(position), positionDigest(r), r.Principal)
}

// OpenPosition returns the position in the skip token of r, "" if r has none. It
// returns false if the token was not issued for that list.
func (l *Lister) OpenPosition(r Request) (string, bool) {
	token, _ := r.Query.Get(skipToken)
	if token == "" {
		return "", true
	}
	position, ok := l.options.Keys.open(token, positionDigest(r), r.Principal)
	return string(position), ok && len(position) > 0
}

// positionDigest keeps tokens of the front door's own lists apart from those of
// merged lists.
func positionDigest(r Request) [32]byte {
	digest := ownQueryOf(r.Query).digest(r.Path)
	return sha256.Sum256(append([]byte("own "), digest[:]...))
}
