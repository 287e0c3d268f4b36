package issuer

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// Reasons for not accepting a signature.
var (
	errUnavailable = errors.New("the issuer's keys are not available")
	errUnknownKey  = errors.New("the issuer has no such key")
	errSignature   = errors.New("the signature is wrong")
	errMustFetch   = errors.New("the issuer's keys would have to be fetched")
)

// signature checks one token's signature. It keeps its findings, because the
// verifier hides errors.
type signature struct {
	find       func(ctx context.Context, id, algorithm string, now time.Time) ([]key, error)
	algorithms []string
	now        time.Time

	key string // the name of the signing key
	err error
}

// VerifySignature implements [oidc.KeySet].
func (s *signature) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := s.verify(ctx, token)
	s.err = err
	return payload, err
}

func (s *signature) verify(ctx context.Context, token string) ([]byte, error) {
	algorithms := make([]jose.SignatureAlgorithm, len(s.algorithms))
	for i, a := range s.algorithms {
		algorithms[i] = jose.SignatureAlgorithm(a)
	}
	// Only the compact form: the other one can have unsigned headers.
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	header := parsed.Signatures[0].Header
	if !tokenType(header.ExtraHeaders[jose.HeaderType]) {
		return nil, errors.New("the type is not that of an access token")
	}
	keys, err := s.find(ctx, header.KeyID, header.Algorithm, s.now)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if payload, err := parsed.Verify(k.public); err == nil {
			s.key = k.name
			return payload, nil
		}
	}
	return nil, errSignature
}

// tokenType reports whether a token's type is an access token's: JWT, at+jwt
// (RFC 9068) or none.
func tokenType(typ any) bool {
	if typ == nil {
		return true
	}
	text, _ := typ.(string)
	text = strings.TrimPrefix(strings.ToLower(text), "application/")
	return text == "jwt" || text == "at+jwt"
}

// fits reports whether a key can make signatures of an algorithm.
func fits(public any, algorithm string) bool {
	switch public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return strings.HasPrefix(algorithm, "ES")
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}
