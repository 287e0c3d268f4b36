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
	"sync"
)

// A token is base64url(version | key | sealed): key is the first bytes of a hash over
// the key's id and the key, sealed is an encoded cursor under AES-256-GCM with a
// random nonce in front. The list's digest is additional authenticated data, so a
// token is valid only for its own list.
const (
	tokenVersion = 1
	keyHashLen   = 4 // bytes that identify a key
	maxToken     = 6 << 10
	// maxCursor bounds the decompressed cursor.
	maxCursor = 64 << 10
	// compressFrom is the length from which compression is tried.
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
		w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
		if err != nil { // the level is a legal one
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
	if err != nil { // a key of this length is a good one
		panic(err)
	}
	return k
}

// seal returns the token of an encoded cursor for the list with this digest.
func (k *Keys) seal(cursor []byte, digest [32]byte) string {
	first := k.tokenKeys[0]
	head := append([]byte{tokenVersion}, first.keyHash[:]...)
	sealed := first.aead.Seal(bytes.Clone(head), nil, k.compress(cursor), append(head, digest[:]...))
	return base64.RawURLEncoding.EncodeToString(sealed)
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

// open returns the encoded cursor of a token. It returns false if no key sealed the
// token for this list.
func (k *Keys) open(token string, digest [32]byte) ([]byte, bool) {
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
		packed, err := key.aead.Open(nil, nil, sealed, append(bytes.Clone(head), digest[:]...))
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

// compress shortens a long cursor if possible.
func (k *Keys) compress(cursor []byte) []byte {
	if len(cursor) >= compressFrom {
		var b bytes.Buffer
		b.WriteByte(encodingDeflate)
		w, _ := k.compressors.Get().(*flate.Writer)
		w.Reset(&b)
		_, err := w.Write(cursor)
		err = errors.Join(err, w.Close())
		k.compressors.Put(w)
		if err == nil && b.Len() <= len(cursor) {
			return b.Bytes()
		}
	}
	return append([]byte{encodingPlain}, cursor...)
}

func decompress(text []byte) ([]byte, bool) {
	if len(text) == 0 || text[0] != encodingDeflate {
		return bytes.TrimPrefix(text, []byte{encodingPlain}), len(text) > 0 && text[0] == encodingPlain
	}
	cursor, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(text[1:])), maxCursor+1))
	return cursor, err == nil && len(cursor) <= maxCursor
}
