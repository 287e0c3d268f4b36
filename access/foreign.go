package access

import (
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/arm"
)

// OfIssuer is a [Method] for the credentials of one issuer.
type OfIssuer interface {
	Method
	// Issuer is the one whose credentials the method knows.
	Issuer() string
	// Named returns the issuer that a credential names, before anything of it is verified;
	// "" for none.
	Named(Credentials) string
}

// foreign returns the issuer that a credential names which no method knew, and those that
// are known; "" where it names none.
func (m *Methods) foreign(c Credentials) (named string, known []string) {
	for _, method := range m.methods {
		if of, ok := method.(OfIssuer); ok {
			if named == "" {
				named = of.Named(c)
			}
			known = append(known, of.Issuer())
		}
	}
	return named, known
}

// foreignIssuer refuses a credential that names an issuer that is not known. The name is
// the client's text, and stands in the log alone.
func foreignIssuer() *Refusal {
	e := arm.NewError(arm.InvalidAuthenticationToken)
	e.Message = "The access token is of an issuer that is not trusted here."
	return &Refusal{e, UnknownIssuer, "The authentication failed because the access token is of an issuer that is not trusted here: its claim 'iss'."}
}

// foreignEvery is the least time between two lines about tokens of foreign issuers.
const foreignEvery = time.Minute

// ForeignTokens logs which issuers tokens name that are refused for that: now and then, as
// anybody can send such tokens. Those whose issuer is nearly a known one are logged apart,
// so that no others hide them. It outlives a configuration, and is safe for concurrent use.
type ForeignTokens struct {
	log *zap.Logger
	now func() time.Time

	mu   sync.Mutex
	seen map[string]*foreignCount // by the known issuer that is nearly the same; "" for none
}

type foreignCount struct {
	tokens int // since the last line
	logged time.Time
}

// NewForeignTokens returns what logs to log.
func NewForeignTokens(log *zap.Logger) *ForeignTokens {
	return &ForeignTokens{log: log, now: time.Now, seen: map[string]*foreignCount{}}
}

// refused notes a token that names an issuer.
func (f *ForeignTokens) refused(named string, known []string) {
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

// nearlySame reports whether two issuers differ in what people overlook: a slash at the
// end, casing, or http for https.
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
