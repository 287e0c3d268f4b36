package config

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"portico/config/files"
)

// CountRemovedCredentials returns how many credentials of the configuration in use the file at path, with its
// includes, no longer contains. It is for files that were refused or cannot take full effect, so it
// searches their text without comments.
func CountRemovedCredentials(used *Config, path string) int {
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
	removed := 0
	for _, credential := range accepted {
		if !bytes.Contains(text.Bytes(), []byte(credential)) {
			removed++
		}
	}
	if root == nil {
		return removed
	}
	refused := readTree(&files.Reader{}, root).Auth
	if used.Auth.Mode == AuthNone && refused.Mode != AuthNone {
		removed++ // calls without a token
	}
	if r.Incomplete { // owners may be in a file that could not be read
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
