package access

import (
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/arm"
)

// IssuerMethod is a [Method] for the credentials of one issuer.
type IssuerMethod interface {
	Method
	// Issuer returns the issuer whose credentials the method knows.
	Issuer() string
	// Named returns the issuer in a credential, which nothing has verified
	// yet; "" if it names none.
	Named(Credentials) string
}

// foreignIssuerOf returns the issuer named in a credential that no method knew, and
// the known issuers; "" if it names none.
func (m *Methods) foreignIssuerOf(c Credentials) (named string, known []string) {
	for _, method := range m.methods {
		if of, ok := method.(IssuerMethod); ok {
			if named == "" {
				named = of.Named(c)
			}
			known = append(known, of.Issuer())
		}
	}
	return named, known
}

// foreignIssuer refuses a credential of an unknown issuer. The issuer's name
// comes from the client, so only the log has it.
func foreignIssuer() *Refusal {
	e := arm.NewError(arm.InvalidAuthenticationToken)
	e.Message = "The access token is of an issuer that is not trusted here."
	return &Refusal{e, UnknownIssuer, "The authentication failed because the access token is of an issuer that is not trusted here: its claim 'iss'."}
}

// foreignEvery is the minimum time between two log lines about tokens of
// foreign issuers.
const foreignEvery = time.Minute

// ForeignTokens logs the issuers of tokens that are refused because of their issuer. It
// does so at intervals, because anybody can send such tokens. Issuers that nearly equal
// a known one are logged separately, so that others do not hide them. It outlives a
// configuration, and is safe for concurrent use.
type ForeignTokens struct {
	log *zap.Logger
	now func() time.Time

	mu   sync.Mutex
	seen map[string]*foreignCount // by the nearly equal known issuer; "" for none
}

type foreignCount struct {
	tokens int // since the last line
	logged time.Time
}

// NewForeignTokens returns a ForeignTokens that logs to log.
func NewForeignTokens(log *zap.Logger) *ForeignTokens {
	return &ForeignTokens{log: log, now: time.Now, seen: map[string]*foreignCount{}}
}

// recordRefused records a token refused for the issuer that it names.
func (f *ForeignTokens) recordRefused(named string, known []string) {
	near := ""
	for _, issuer := range known {
		if nearlySame(named, issuer) {
			near = issuer
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	count := f.seen[near]
	if count == nil {
		count = &foreignCount{}
		f.seen[near] = count
	}
	count.tokens++
	now := f.now()
	if now.Sub(count.logged) < foreignEvery {
		return
	}
	tokens := count.tokens
	count.tokens, count.logged = 0, now
	fields := []zap.Field{zap.String("issuer", Quoted(named)), zap.Int("tokens", tokens)}
	if near != "" {
		f.log.Warn("a token's issuer is almost one of auth.issuers: both must be identical, including a trailing slash",
			append(fields, zap.String("configured", Quoted(near)))...)
		return
	}
	f.log.Warn("a token's issuer is not in auth.issuers", fields...)
}

// nearlySame reports whether two issuers differ only in what people overlook:
// a slash at the end, casing, or http for https.
func nearlySame(one, other string) bool {
	plain := func(issuer string) string {
		issuer = strings.TrimRight(strings.ToLower(issuer), "/")
		_, rest, found := strings.Cut(issuer, "://")
		if !found {
			return issuer
		}
		return rest
	}
	return plain(one) == plain(other)
}
