package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// Bounds of an issuer's published keys.
const (
	maxKeys    = 64
	maxSameKey = 4 // with one id: each is tried
	minRSA     = 2048
	maxRSA     = 8192 // larger ones make verification expensive
)

// keySet holds an issuer's keys at one time. It is immutable.
type keySet struct {
	fetched time.Time
	keys    []key
	names   map[string]bool
}

// key is a public key.
type key struct {
	jose      jose.JSONWebKey
	public    any
	name      string // its thumbprint
	algorithm string // "" for all that the key fits
}

// parseKeys reads a set of keys. It omits unusable keys, and fails if none is left.
func parseKeys(text []byte, fetched time.Time) (*keySet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, errors.New("the keys are not a valid JSON Web Key Set")
	}
	set := &keySet{fetched: fetched, names: make(map[string]bool)}
	for _, text := range raw.Keys[:min(len(raw.Keys), maxKeys)] {
		if k, ok := parseKey(text); ok && !set.names[k.name] {
			set.keys = append(set.keys, k)
			set.names[k.name] = true
		}
	}
	if len(set.keys) == 0 {
		return nil, errors.New("there is no usable key")
	}
	return set, nil
}

// parseKey reads one key; it returns false if that is not a public key for signatures.
func parseKey(text []byte) (key, bool) {
	var k jose.JSONWebKey
	if json.Unmarshal(text, &k) != nil || !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
		return key{}, false
	}
	switch public := k.Key.(type) {
	case *rsa.PublicKey:
		if n := public.N.BitLen(); n < minRSA || n > maxRSA {
			return key{}, false
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return key{}, false
	}
	sum, err := k.Thumbprint(crypto.SHA256)
	if err != nil {
		return key{}, false
	}
	return key{jose: k, public: k.Key, name: hex.EncodeToString(sum[:16]), algorithm: k.Algorithm}, true
}

// find returns the keys that may have made a signature. A token without a key
// id can only be checked by a set with one key.
func (s *keySet) find(id, algorithm string) (found []key) {
	if id == "" && len(s.keys) != 1 {
		return nil
	}
	for _, k := range s.keys {
		if (id == "" || k.jose.KeyID == id) && (k.algorithm == "" || k.algorithm == algorithm) && fits(k.public, algorithm) && len(found) < maxSameKey {
			found = append(found, k)
		}
	}
	return found
}
