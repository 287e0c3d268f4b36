package fanout

import "crypto/sha256"

// SealPlace makes a skip token of the place at which a list of the front door's
// own goes on. It opens for the list that r asks for, by the same filter and
// api-version, alone.
func (l *Lister) SealPosition(r Request, place string) string {
	return l.options.Keys.seal([]byte(place), positionDigest(r))
}

// OpenPlace returns the place in the skip token of r, "" where r has none. It
// reports false for whatever is no token of that list.
func (l *Lister) OpenPosition(r Request) (string, bool) {
	token, _ := r.Query.Get(skipToken)
	if token == "" {
		return "", true
	}
	place, ok := l.options.Keys.open(token, positionDigest(r))
	return string(place), ok && len(place) > 0
}

// ownDigest tells lists of the front door's own apart, from each other and from
// those that are merged.
func positionDigest(r Request) [32]byte {
	digest := ownQueryOf(r.Query).digest(r.Path)
	return sha256.Sum256(append([]byte("own "), digest[:]...))
}
