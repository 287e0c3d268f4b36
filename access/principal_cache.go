package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Bounds of the cache. A principal that signs in with more credentials than its share
// displaces its own oldest one, so that no principal displaces the others.
const (
	maxCredentials       = 16384
	credentialsPerCaller = 16
	maxGroupBytes        = 4 << 20 // total bytes of group ids
)

// PrincipalCache caches the principals of verified credentials, until the principal expires
// or has not been looked up for a while. It keeps no credential, only a keyed hash of
// each: GMAC with its own random key and one nonce. Since no hash leaves it, no one can
// search for two credentials with one hash, and the duration of a look-up reveals
// nothing about a credential. The hash is made for every request; it takes a third of
// the time of SHA-256. The cache is bounded, and safe for concurrent use.
type PrincipalCache struct {
	mac      cipher.AEAD
	mu       sync.Mutex
	scratch  mac
	entries  *simplelru.LRU[mac, Principal]
	byCaller map[string][]mac // oldest first
	groups   int              // bytes
}

// mac is the keyed hash of a credential.
type mac [aes.BlockSize]byte

// oneNonce is the nonce of all hashes.
var oneNonce [12]byte

// NewPrincipalCache returns an empty cache.
func NewPrincipalCache() *PrincipalCache {
	m := &PrincipalCache{byCaller: make(map[string][]mac)}
	var key mac
	_, _ = rand.Read(key[:]) // it ends the process instead of failing
	block, err := aes.NewCipher(key[:])
	if err == nil {
		m.mac, err = cipher.NewGCM(block)
	}
	if err == nil {
		m.entries, err = simplelru.NewLRU(maxCredentials, m.onRemove)
	}
	if err != nil {
		panic(err) // only for a wrong key size, or a size below 1
	}
	return m
}

// hash returns the hash of a credential, in memory that the lock guards.
func (m *PrincipalCache) hash(credential string) mac {
	m.mac.Seal(m.scratch[:0], oneNonce[:], nil, bytesOf(credential))
	return m.scratch
}

// Get returns the principal of a credential. It does not allocate.
func (m *PrincipalCache) Get(credential string, now time.Time) (Principal, bool) {
	m.mu.Lock()
	p, known := m.entries.Get(m.hash(credential))
	m.mu.Unlock()
	if !known || p.expired(now) {
		return Principal{}, false
	}
	return p, true
}

// Add caches the principal of a credential.
func (m *PrincipalCache) Add(credential string, p Principal, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hash := m.hash(credential)
	m.entries.Remove(hash)
	if p.expired(now) {
		return
	}
	p.caller = p.Caller()
	if own := m.byCaller[p.caller]; len(own) >= credentialsPerCaller {
		m.entries.Remove(own[0])
	}
	for m.entries.Len() > 0 && m.groups+len(p.Groups) > maxGroupBytes {
		m.entries.RemoveOldest()
	}
	m.entries.Add(hash, p)
	m.byCaller[p.caller] = append(m.byCaller[p.caller], hash)
	m.groups += len(p.Groups)
}

// onRemove updates the bookkeeping for an entry that leaves the cache.
func (m *PrincipalCache) onRemove(hash mac, p Principal) {
	m.groups -= len(p.Groups)
	own := slices.DeleteFunc(m.byCaller[p.caller], func(of mac) bool { return of == hash })
	if len(own) == 0 {
		delete(m.byCaller, p.caller)
	} else {
		m.byCaller[p.caller] = own
	}
}
