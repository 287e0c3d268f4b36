package harness

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// The audience and the caller of an [Issuer]'s tokens, unless a test says otherwise.
const (
	Audience     = "https://management.example"
	IssuedTo     = "00000000-0000-0000-0000-0000000000c1"
	IssuedToApp  = "00000000-0000-0000-0000-0000000000d1"
	IssuedToName = "carol@contoso.example"
)

// SigningKey is a key of an issuer.
type SigningKey struct {
	ID      string
	Private *rsa.PrivateKey
}

// Issuer is an issuer of OpenID Connect on a loopback address that does what a test
// tells it to.
type Issuer struct {
	URL string

	server *httptest.Server

	mu      sync.Mutex
	keys    []SigningKey // the last signs
	created int
	answer  http.HandlerFunc // in place of everything; nil: none
	named   string           // the issuer in its discovery document
	fetches int              // of its keys
}

// NewIssuer starts an issuer with one key; it ends with the test.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{}
	i.server = httptest.NewServer(i)
	t.Cleanup(i.server.Close)
	i.URL, i.named = i.server.URL, i.server.URL
	i.AddKey(t)
	return i
}

// NewSigningKey makes a key.
func NewSigningKey(t testing.TB, id string) SigningKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	OK(t, err)
	return SigningKey{id, private}
}

// AddKey adds a key, which signs from now on.
func (i *Issuer) AddKey(t testing.TB) SigningKey {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.created++
	k := NewSigningKey(t, "key-"+strconv.Itoa(i.created))
	i.keys = append(i.keys, k)
	return k
}

// RemoveKeys removes all keys but the one that signs.
func (i *Issuer) RemoveKeys() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = i.keys[len(i.keys)-1:]
}

// Key is the key that signs.
func (i *Issuer) Key() SigningKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

// Answer has the issuer answer every request by h; nil ends that.
func (i *Issuer) Answer(h http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = h
}

// Claim has the discovery document name another issuer.
func (i *Issuer) Claim(issuer string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.named = issuer
}

// Fetches is how often the discovery document was asked for.
func (i *Issuer) Fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// ServeHTTP answers with the discovery document and the keys.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.URL.Path == "/.well-known/openid-configuration" {
		i.fetches++
	}
	if answer := i.answer; answer != nil {
		i.mu.Unlock()
		defer i.mu.Lock()
		answer(w, r)
		return
	}
	var body any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		body = map[string]any{"issuer": i.named, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}}
	case "/keys":
		body = i.set()
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (i *Issuer) set() jose.JSONWebKeySet {
	var set jose.JSONWebKeySet
	for _, k := range i.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Algorithm: "RS256", Use: "sig"})
	}
	return set
}

// Auth is YAML of the auth section that trusts the issuer, with more settings of it and of
// its keys; see [Config.Auth].
func (i *Issuer) Auth(further, keys string) string {
	text := "  issuers:\n    - {issuer: " + strconv.Quote(i.URL) + ", audiences: [" + Audience + "], tenantClaim: tid" + further + "}"
	if keys != "" {
		text += "\n  keys: {" + keys + "}"
	}
	return text
}

// Claims are those of a good token that is valid for an hour, changed by pairs of a name
// and a value; the value nil removes a claim.
func (i *Issuer) Claims(changes ...any) map[string]any {
	now := time.Now()
	claims := map[string]any{
		"iss": i.URL, "aud": Audience, "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(), "sub": "carol",
		"tid": TenantID, "oid": IssuedTo, "appid": IssuedToApp, "name": IssuedToName,
	}
	changed := maps.Clone(claims)
	for n := 0; n+1 < len(changes); n += 2 {
		name, _ := changes[n].(string)
		if changes[n+1] == nil {
			delete(changed, name)
			continue
		}
		changed[name] = changes[n+1]
	}
	return changed
}

// Token is a good token, with claims changed as [Issuer.Claims] has it.
func (i *Issuer) Token(t testing.TB, changes ...any) string {
	t.Helper()
	return i.Key().Sign(t, i.Claims(changes...))
}

// Sign signs claims by RS256.
func (k SigningKey) Sign(t testing.TB, claims map[string]any) string {
	t.Helper()
	return Sign(t, jose.RS256, k.Private, map[jose.HeaderKey]any{"kid": k.ID, "typ": "JWT"}, claims)
}

// Sign signs claims by any algorithm and key, with any headers.
func Sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, headers map[jose.HeaderKey]any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, &jose.SignerOptions{ExtraHeaders: headers})
	OK(t, err)
	payload, err := json.Marshal(claims)
	OK(t, err)
	signed, err := signer.Sign(payload)
	OK(t, err)
	token, err := signed.CompactSerialize()
	OK(t, err)
	return token
}
