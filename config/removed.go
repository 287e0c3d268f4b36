package config

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"portico/config/files"
)

// Removed counts the credentials that the configuration in use accepts and that the
// file at path, with what it includes, no longer holds. It is for files that were
// refused or cannot take effect as a whole, so it reads their text without the
// comments.
func Removed(used *Config, path string) int {
	r := files.FromDisk()
	root := r.Read(path)
	names := r.Names
	if root == nil { // what it includes is not known
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
	refused := read(&files.Reader{}, root).Auth
	if used.Auth.Mode == AuthNone && refused.Mode != AuthNone {
		removed++ // callers without a token
	}
	if r.Incomplete { // owners may stand where it could not be read
		return removed
	}
	if used.Auth.Roles == RolesIgnored && refused.Roles == RolesEnforced {
		removed++ // callers without a role
	}
	for _, owner := range used.Auth.Owners {
		if !slices.Contains(refused.Owners, owner) {
			removed++ // a right to everything
		}
	}
	return removed
}

// withoutComments drops what follows a number sign in a text of YAML. It drops
// part of a quoted value with one, too, but no hash and no issuer has one.
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
