package config

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"portico/config/files"
)

// Removed returns how many of the credentials that a configuration in use accepts
// do not stand in the file at path, or those that it includes, any more. It is for
// files that were refused, or of which not all can take effect, so it goes by what
// can be read of them: by the text, less its comments.
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
	removed := 0
	for _, hash := range accepted {
		if !bytes.Contains(text.Bytes(), []byte(hash)) {
			removed++
		}
	}
	if root != nil && used.Auth.Mode == AuthNone && read(&files.Reader{}, root).Auth.Mode == AuthTokens {
		removed++ // whoever comes without any
	}
	return removed
}

// withoutComments is a text of YAML without what stands behind a number sign; that
// of a value in quotes goes too, which no hash has.
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
