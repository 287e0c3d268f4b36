package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRemoved(t *testing.T) {
	folder := t.TempDir()
	path, secrets := filepath.Join(folder, "portico.yaml"), filepath.Join(folder, "secrets.yaml")
	write := func(name, text string) {
		t.Helper()
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	token := func(digit string) string {
		return "    - {sha256: \"" + strings.Repeat(digit, 64) + "\", tenantId: 00000000-0000-0000-0000-00000000000a, objectId: 00000000-0000-0000-0000-00000000000b}\n"
	}
	const head = "include: [secrets.yaml]\nserver: {publicURL: \"https://management.example.com\", region: westus, tls: terminated}\nregions: [{name: westus}]\n"
	const auth = "auth:\n  mode: tokens\n  tokens:\n"
	write(path, head)
	write(secrets, auth+token("1")+token("2"))
	used, err := Load(path)
	must(t, err)
	for _, c := range []struct {
		name, main, secrets string
		want                int
	}{
		{"as it was", head, auth + token("1") + token("2"), 0},
		{"one went", head, auth + token("1"), 1},
		{"one is a comment", head, auth + token("1") + "#" + token("2"), 1},
		{"a comment of it stands behind another", head, auth + strings.TrimSuffix(token("1"), "\n") + " #" + token("2"), 1},
		{"one is no token any more", head, auth + token("1") + strings.ReplaceAll(token("2"), "tenantId", "tenant"), 0},
		{"no YAML, nothing went", head + "]", auth + token("1") + token("2"), 0},
		{"no YAML, one went", head + "]", auth + token("1"), 1},
		{"the file with them is no YAML", head, auth + token("1") + "]", 1},
		{"they are not included", head[strings.Index(head, "\n")+1:], auth + token("1") + token("2"), 2},
		{"nobody needs one", head, "auth: {mode: none}", 2},
	} {
		write(path, c.main)
		write(secrets, c.secrets)
		if got := CountRemovedCredentials(used, nil, path); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	write(secrets, auth+token("1")+token("2"))
	if got := CountRemovedCredentials(used, nil, filepath.Join(folder, "none.yaml")); got != 0 {
		t.Errorf("a file that cannot be read: %d", got) // nothing is known of it but the others
	}
	open := *used
	open.Auth = Auth{Mode: AuthNone}
	write(path, head)
	write(secrets, auth+token("1"))
	if got := CountRemovedCredentials(&open, nil, path); got != 1 {
		t.Errorf("from no one needs one to tokens: %d", got)
	}
	open.Server.AdminTokens = []AdminToken{{SHA256: strings.Repeat("9", 64)}}
	if got := CountRemovedCredentials(&open, nil, path); got != 2 {
		t.Errorf("and the admin token went: %d", got)
	}
}

// Owners, and callers who needed no role, lose what they had as well.
func TestRemovedRights(t *testing.T) {
	const (
		ann, bob = "00000000-0000-0000-0000-00000000000b", "00000000-0000-0000-0000-00000000000c"
		head     = "server: {publicURL: \"https://management.example.com\", region: westus, tls: terminated}\nregions: [{name: westus}]\n" +
			"auth:\n  tokens: [{sha256: \"1111111111111111111111111111111111111111111111111111111111111111\", tenantId: " + ann + ", objectId: " + ann + "}]\n"
	)
	path := filepath.Join(t.TempDir(), "portico.yaml")
	write := func(rest string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(head+rest), 0o600))
	}
	write("  roles: ignored\n  owners: [{principalId: " + ann + "}, {principalId: " + bob + "}]\n")
	used, err := Load(path)
	must(t, err)
	for _, c := range []struct {
		name, rest string
		want       int
	}{
		{"as it was", "  roles: ignored\n  owners: [{principalId: " + bob + "}, {principalId: " + ann + ", scope: /}]\n", 0},
		{"an owner went", "  roles: ignored\n  owners: [{principalId: " + ann + "}]\n", 1},
		{"an owner has less", "  roles: ignored\n  owners: [{principalId: " + bob + "}, {principalId: " + ann + ", scope: /subscriptions/" + ann + "}]\n", 1},
		{"roles are enforced", "  owners: [{principalId: " + bob + "}, {principalId: " + ann + "}]\n", 1},
		{"it includes what cannot be read, and an owner went", "  roles: ignored\n  owners: [{principalId: " + ann + "}]\ninclude: [none.yaml]\n", 1},
		{"it includes what cannot be read", "  owners: [{principalId: " + bob + "}, {principalId: " + ann + "}]\ninclude: [none.yaml]\n", 0},
		{"it is no YAML, and an owner went", "  owners: [{principalId: " + ann + "}]\n]", 1},
		{"it is no YAML", "  owners: [{principalId: " + bob + "}, {principalId: " + ann + "}]\n]", 0},
	} {
		write(c.rest)
		if got := CountRemovedCredentials(used, nil, path); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
