package main

import (
	"cmp"
	"crypto/x509"
	"path/filepath"
	"strings"

	"portico/access"
	"portico/access/issuer"
	"portico/config"
	"portico/internal/pemfile"
)

// signIn holds the authentication of one configuration.
type signIn struct {
	authenticator access.Authenticator
	authorities   []*x509.Certificate // for clients' certificates; nil: none is requested
	keys          *issuer.Prepared
}

// signIn builds the methods in the order of their use. It calls no issuer.
func (s *service) signIn(c *config.Config) (signIn, error) {
	var created signIn
	var err error
	if created.keys, err = s.issuerKeys(c); err != nil {
		return created, err
	}
	if c.Auth.Mode == config.AuthNone {
		created.authenticator = access.Anyone{}
		return created, nil
	}
	if !c.Auth.RolesEnforced() {
		s.log.Warn("auth.roles is ignored: every caller of a tenant may do everything in its subscriptions")
	}
	var methods []access.Method
	for _, i := range c.Auth.Issuers {
		methods = append(methods, issuer.New(issuerOptions(i), created.keys.Of(i.URL)))
	}
	if ca := c.Auth.Certificates.CA; ca != "" {
		if created.authorities, err = authoritiesOf(ca); err != nil {
			return created, err
		}
		revocations, err := s.revocations(c.Auth.Certificates.CRL, created.authorities)
		if err != nil {
			return created, err
		}
		methods = append(methods, access.NewCertificates(created.authorities, ownersOf(c.Auth.Certificates), revocations))
	}
	tokens, err := access.NewTokens(tokenPrincipals(c.Auth.Tokens))
	if err != nil {
		return created, err
	}
	created.authenticator = access.NewMethods(authorityOf(c), s.signIns, append(methods, tokens)...).Reporting(s.foreign)
	return created, nil
}

func (s *service) issuerKeys(c *config.Config) (*issuer.Prepared, error) {
	folder := c.Auth.Keys.Folder
	if folder == "" && c.Store.Driver == config.SQLite {
		folder = filepath.Dir(c.Store.DSN)
	}
	if folder == "" && len(c.Auth.Issuers) > 0 {
		s.log.Info("auth.keys.folder is not set: the keys of issuers are only in memory, and fetched again after each start")
	}
	issuers := make(map[string]issuer.KeyOptions, len(c.Auth.Issuers))
	for _, i := range c.Auth.Issuers {
		issuers[i.URL] = issuer.KeyOptions{
			Refresh: c.Auth.Keys.Refresh, AtMostEvery: c.Auth.Keys.AtMostEvery, KeepFor: c.Auth.Keys.KeepFor, Folder: folder, CA: i.CA,
		}
	}
	keys, err := s.issuers.Prepare(issuers)
	if err != nil {
		return nil, config.Faults{fileFault("", "auth.issuers.ca", err)}
	}
	return keys, nil
}

func issuerOptions(i config.Issuer) issuer.Options {
	o := issuer.Options{
		URL: i.URL, Audiences: i.Audiences, Algorithms: i.Algorithms, ClockSkew: i.ClockSkew, TenantID: i.TenantID, TenantClaim: i.TenantClaim,
		Claims: issuer.ClaimNames{ObjectID: i.Claims.ObjectID, AppID: []string{i.Claims.AppID}, Name: i.Claims.Name, Groups: i.Claims.Groups},
	}
	if i.Claims.AppID == "" {
		o.Claims.AppID = []string{"appid", "azp", "client_id"}
	}
	return o
}

// authoritiesOf reads the authorities of clients' certificates.
func authoritiesOf(file string) ([]*x509.Certificate, error) {
	authorities, err := pemfile.Certificates(file)
	if err != nil {
		return nil, config.Faults{fileFault(file, "auth.clientCertificates.ca", err)}
	}
	return authorities, nil
}

func ownersOf(c config.ClientCertificates) []access.CertificateOwner {
	owners := make([]access.CertificateOwner, 0, len(c.Principals))
	for _, p := range c.Principals {
		subject, _ := pemfile.ParseSubject(p.Subject) // checked when the configuration was read
		owners = append(owners, access.CertificateOwner{
			Subject: subject, SAN: p.SAN,
			Principal: access.Principal{TenantID: p.TenantID, ObjectID: p.ObjectID, Name: p.Name, AppID: p.AppID},
		})
	}
	return owners
}

func tokenPrincipals(tokens []config.Token) map[string]access.Principal {
	principals := make(map[string]access.Principal, len(tokens))
	for _, t := range tokens {
		principals[t.SHA256] = access.Principal{TenantID: t.TenantID, ObjectID: t.ObjectID, Name: t.Name, AppID: t.AppID}
	}
	return principals
}

// authorityOf returns the URI that challenges name as the issuer of tokens: clients find
// the issuer and the tenant in it.
func authorityOf(c *config.Config) string {
	login, tenant := c.Metadata.LoginEndpoint, c.Metadata.Tenant
	if len(c.Auth.Issuers) > 0 {
		first := c.Auth.Issuers[0]
		if login == "" {
			return first.URL
		}
		tenant = cmp.Or(tenant, first.TenantID)
	}
	authority := cmp.Or(login, c.Server.PublicURL.String())
	if tenant != "" {
		authority = strings.TrimSuffix(authority, "/") + "/" + tenant
	}
	return authority
}
