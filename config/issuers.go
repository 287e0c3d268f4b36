package config

import (
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// Issuer is an OpenID Connect issuer.
type Issuer struct {
	URL         string // exactly as in tokens
	Audiences   []string
	Algorithms  []string
	ClockSkew   time.Duration
	TenantID    string // set unless TenantClaim is
	TenantClaim string
	Claims      Claims
	CA          string // a PEM file; "" means the system's authorities
}

// Claims are the names of the claims that identify a caller. An empty AppID or Name means the usual
// ones.
type Claims struct {
	ObjectID, AppID, Name, Groups string
}

// IssuerKeys configures fetching and caching of issuers' keys.
type IssuerKeys struct {
	Refresh, AtMostEvery, KeepFor time.Duration
	Folder                        string // "" means the default
}

func issuerRows(r *files.Reader, issuers *[]Issuer) *setting.Setting {
	urls := r.Unique("the issuer")
	return setting.Mappings("issuers", "OpenID Connect issuers whose access tokens callers may use.",
		func(i *Issuer) []*setting.Setting { return i.rows() },
		func(o *setting.Object, i Issuer) {
			files.CheckPEM(r, o, "ca", &i.CA)
			if (o.Get("tenantId") == nil) == (o.Get("tenantClaim") == nil) && !o.Broken {
				o.Fault(o.At("tenantClaim"), o.Path+" needs either tenantId or tenantClaim", "tenantId: GUID for callers of one tenant, or tenantClaim: tid")
			}
			if len(i.Algorithms) == 0 {
				i.Algorithms = []string{"RS256"}
			}
			if at := o.Valid("issuer"); at != nil && urls.Add(at, i.URL, i.URL) {
				*issuers = append(*issuers, i)
			}
		}).NonEmpty("at least one {issuer, audiences, tenantId or tenantClaim}").Default("none")
}

func (i *Issuer) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Required("issuer", &i.URL, rule.Issuer(),
			"The issuer, exactly as in its tokens and in its discovery document (`/.well-known/openid-configuration` below it)."),
		setting.List("audiences", rule.Text(), "Accepted audiences. A token must have one of them.",
			func(_ *yamltree.Node, audience string) { i.Audiences = append(i.Audiences, audience) }).
			AtLeastOne("at least one, such as [https://management.example.com]"),
		setting.List("algorithms", rule.OneOf("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"),
			"Accepted signature algorithms.",
			func(_ *yamltree.Node, algorithm string) { i.Algorithms = append(i.Algorithms, algorithm) }).Noun("algorithm").Default("`RS256`"),
		setting.Value("clockSkew", &i.ClockSkew, rule.DurationTo(10*time.Minute), time.Minute,
			"Tolerated difference of the issuer's clock. Tokens are accepted that much earlier and later than they state."),
		setting.Value("tenantId", &i.TenantID, rule.GUID(), "", "The tenant of all callers of this issuer.").
			Default("given by `tenantClaim`; exactly one of both is required"),
		setting.Value("tenantClaim", &i.TenantClaim, rule.Text(), "",
			"The claim with the caller's tenant, a GUID. The issuer is trusted to name any tenant.").Default("none"),
		setting.Mapping("claims", "Claims that identify a caller.",
			setting.Value("objectId", &i.Claims.ObjectID, rule.Text(), "oid", "The caller's object id, a GUID. A token without it is refused."),
			setting.Value("appId", &i.Claims.AppID, rule.Text(), "", "The calling application.").Default("`appid`, else `azp`, else `client_id`"),
			setting.Value("name", &i.Claims.Name, rule.Text(), "", "The caller's name, as sent to providers and shown in the activity log.").
				Default("`preferred_username`, else `upn`, else the id of an application, else `name`"),
			setting.Value("groups", &i.Claims.Groups, rule.Text(), "groups", "The object ids of the caller's groups."),
		),
		setting.Value("ca", &i.CA, rule.PEMFile(), "", "Certificate authorities that must have issued the issuer's TLS certificate.").Default("the system's"),
	}
}

func (k *IssuerKeys) rows() *setting.Setting {
	return setting.Mapping("keys", "Keys of the issuers, by which tokens are verified.",
		setting.Value("refresh", &k.Refresh, rule.PositiveDuration(), 5*time.Minute,
			"How often keys are fetched while tokens are used. A key that an issuer has removed is accepted for up to this long."),
		setting.Value("atMostEvery", &k.AtMostEvery, rule.PositiveDuration(), 10*time.Second,
			"Minimum time between two fetches from one issuer, regardless of the tokens received. A token with a new key may be refused for that "+
				"long."),
		setting.Value("keepFor", &k.KeepFor, rule.PositiveDuration(), 24*time.Hour,
			"How long keys are accepted while the issuer cannot be reached."),
		setting.Value("folder", &k.Folder, rule.Folder(), "",
			"Directory of the last valid keys for the next start, with a file per issuer. Anyone who can write to it can sign in as anybody.").
			Default("the directory of the SQLite database; for PostgreSQL none: keys are kept only in memory"),
	).Check(func(o *setting.Object) {
		if at := o.Valid("folder"); at != nil {
			k.Folder = files.RelativeTo(at.File, k.Folder)
		}
	})
}
