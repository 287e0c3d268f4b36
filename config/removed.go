package config

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"os"
	"slices"
	"strings"

	"portico/config/files"
	"portico/internal/pemfile"
)

// CountRemovedCredentials returns how many credentials of the configuration in use the file at path, with its
// includes, no longer contains. It is for files that were refused or cannot take full effect, so it
// searches their text without comments; a file that cannot be read contains nothing. authorities are
// those in use for clients' certificates.
func CountRemovedCredentials(used *Config, authorities []*x509.Certificate, path string) int {
	r := files.FromDisk()
	root := r.Read(path)
	names := r.Names
	if root == nil { // its includes are not known
		names = slices.Concat(names, used.Files)
	}
	var text bytes.Buffer
	for _, file := range names {
		if data, err := os.ReadFile(file); err == nil {
			text.WriteString(withoutComments(string(data)))
		}
	}
	var accepted []string
	for _, token := range used.Server.AdminTokens {
		accepted = append(accepted, token.SHA256)
	}
	for _, token := range used.Auth.Tokens {
		accepted = append(accepted, token.SHA256)
	}
	for _, issuer := range used.Auth.Issuers {
		accepted = append(accepted, issuer.URL)
	}
	for _, p := range used.Auth.Certificates.Principals {
		accepted = append(accepted, p.Subject+p.SAN) // one of them is ""
	}
	if r.Incomplete { // then only the text is known
		for _, owner := range used.Auth.Owners {
			accepted = append(accepted, owner.PrincipalID)
		}
	}
	removed := 0
	for _, credential := range accepted {
		if !bytes.Contains(text.Bytes(), []byte(credential)) {
			removed++
		}
	}
	var refused Auth
	if root != nil {
		refused = readTree(&files.Reader{}, root).Auth
	}
	trusted, _ := pemfile.Certificates(cmp.Or(refused.Certificates.CA, used.Auth.Certificates.CA)) // none, if it cannot be read
	for _, authority := range authorities {
		if !slices.ContainsFunc(trusted, authority.Equal) {
			removed++
		}
	}
	if root != nil && used.Auth.Mode == AuthNone && refused.Mode != AuthNone {
		removed++ // calls without a token
	}
	if r.Incomplete {
		return removed
	}
	if used.Auth.Roles == RolesIgnored && refused.Roles == RolesEnforced {
		removed++ // calls without a role
	}
	for _, owner := range used.Auth.Owners {
		if !slices.Contains(refused.Owners, owner) {
			removed++ // full access
		}
	}
	return removed
}

// withoutComments removes from YAML text everything after a number sign. That includes parts of
// quoted values, but no hash or issuer contains one.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		before, _, commented := strings.Cut(" "+line, " #")
		b.WriteString(before)
		if commented {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
