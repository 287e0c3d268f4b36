package fanout

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"sync"
)

// A token is base64url(version | key | sealed): key is the first bytes of a hash over
// the key's id and the key, sealed is an encoded cursor under AES-256-GCM, preceded by a
// random nonce. The digest of the list and the caller are additional authenticated data,
// so a token is valid only for its own list and caller.
const (
	tokenVersion = 1
	keyHashLen   = 4 // bytes that identify a key
	maxToken     = MaxTarget
	// maxCursor bounds the decompressed cursor.
	maxCursor = 64 << 10
	// compressFrom is the minimum length of compressed cursors.
	compressFrom = 1 << 10
)

// Key is a key for skip tokens.
type Key struct {
	ID  string
	Key [32]byte
}

// Keys seal and open skip tokens. They are safe for concurrent use.
type Keys struct {
	tokenKeys   []tokenKey // the first seals, all open
	compressors sync.Pool
}

type tokenKey struct {
	keyHash [keyHashLen]byte
	aead    cipher.AEAD
}

// NewKeys returns keys: the first seals tokens, each opens them.
func NewKeys(keys ...Key) (*Keys, error) {
	if len(keys) == 0 {
		return nil, errors.New("fanout: no key for skip tokens")
	}
	k := &Keys{compressors: sync.Pool{New: func() any {
		// A provider's cursor often has no repetitions. Lower levels store such
		// text uncompressed; this one saves a quarter of it.
		w, err := flate.NewWriter(io.Discard, 7)
		if err != nil { // the level is valid
			panic(err)
		}
		return w
	}}}
	for _, key := range keys {
		block, err := aes.NewCipher(key.Key[:])
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte(key.ID+"\x00"), key.Key[:]...))
		k.tokenKeys = append(k.tokenKeys, tokenKey{[keyHashLen]byte(sum[:]), aead})
	}
	return k, nil
}

// NewRandomKeys returns one random key.
func NewRandomKeys() *Keys {
	var key Key
	rand.Read(key.Key[:]) // never fails
	k, err := NewKeys(key)
	if err != nil { // the key has a valid length
		panic(err)
	}
	return k
}

// seal returns the token of an encoded cursor for the list with this digest,
// and for a caller.
func (k *Keys) seal(cursor []byte, digest [32]byte, caller string) string {
	first := k.tokenKeys[0]
	head := append([]byte{tokenVersion}, first.keyHash[:]...)
	sealed := first.aead.Seal(bytes.Clone(head), nil, k.compress(cursor), boundTo(head, digest, caller))
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// boundTo returns the additional authenticated data of a token.
func boundTo(head []byte, digest [32]byte, caller string) []byte {
	return slices.Concat(head, digest[:], []byte(caller))
}

// sealed reports whether a token looks like one that a key of k sealed.
func (k *Keys) sealed(token string) bool {
	const head = (1 + keyHashLen) / 3 * 4 // characters of whole groups of bytes
	if len(token) < head {
		return false
	}
	var begin [head / 4 * 3]byte
	if _, err := base64.RawURLEncoding.Decode(begin[:], []byte(token[:head])); err != nil || begin[0] != tokenVersion {
		return false
	}
	for _, key := range k.tokenKeys {
		if bytes.HasPrefix(key.keyHash[:], begin[1:]) {
			return true
		}
	}
	return false
}

// open returns the encoded cursor of a token. It returns false if no key
// sealed the token for this list and caller.
func (k *Keys) open(token string, digest [32]byte, caller string) ([]byte, bool) {
	if len(token) > 2*maxToken {
		return nil, false
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(text) < 1+keyHashLen || text[0] != tokenVersion {
		return nil, false
	}
	head, sealed := text[:1+keyHashLen], text[1+keyHashLen:]
	for _, key := range k.tokenKeys {
		if !bytes.Equal(head[1:], key.keyHash[:]) {
			continue
		}
		packed, err := key.aead.Open(nil, nil, sealed, boundTo(head, digest, caller))
		if err != nil {
			continue
		}
		return decompress(packed)
	}
	return nil, false
}

// The first byte of a sealed cursor.
const (
	encodingPlain   = 0
	encodingDeflate = 1
)

// compress returns the form of a cursor for sealing: deflated, or plain if it is short.
func (k *Keys) compress(cursor []byte) []byte {
	if len(cursor) < compressFrom {
		return append([]byte{encodingPlain}, cursor...)
	}
	var b bytes.Buffer
	b.WriteByte(encodingDeflate)
	w, _ := k.compressors.Get().(*flate.Writer)
	w.Reset(&b)
	_, _ = w.Write(cursor) // into memory
	_ = w.Close()
	k.compressors.Put(w)
	return b.Bytes()
}

// decompress is the inverse of compress.
func decompress(text []byte) (cursor []byte, ok bool) {
	switch {
	case len(text) == 0:
		return nil, false
	case text[0] == encodingPlain:
		return text[1:], true
	case text[0] != encodingDeflate:
		return nil, false
	}
	cursor, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(text[1:])), maxCursor+1))
	return cursor, err == nil && len(cursor) <= maxCursor
}

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

// positionDigest makes tokens of the front door's own lists invalid for
// merged lists, and vice versa.
func positionDigest(r Request) [32]byte {
	digest := ownQueryOf(r.Query).digest(r.Path)
	return sha256.Sum256(append([]byte("own "), digest[:]...))
}
