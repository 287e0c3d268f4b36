package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"portico/config/setting"
)

var differing = `
server: {publicURL: http://portico.example, region: westus, adminToken: {sha256: "` + hashA + `", name: Ada Lovelace}}
upstream: {callTimeout: 20s}
lists: {tokenKeys: [{id: first, key: "` + keyA + `"}]}
regions: [{name: westus, displayName: West US}, {name: eastus, displayName: East US}]
providers:
  - namespace: Contoso.Compute
    endpoints: {westus: [http://a.example], eastus: [http://b.example], global: [http://a.example]}
    resourceTypes: [{name: machines, kind: tracked, apiVersions: ["2024-01-01"], locations: [westus, eastus]}]
`

var (
	hashA = strings.Repeat("a", 64)
	hashB = strings.Repeat("b", 64)
	keyA  = strings.Repeat("A", 43) + "="
	keyB  = strings.Repeat("B", 42) + "A="
)

func loaded(t *testing.T, folder, text string) *Config {
	t.Helper()
	path := filepath.Join(folder, "portico.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	c, err := Load(path)
	must(t, err)
	return c
}

// A difference names its setting, and shows no secret and no person.
func TestDifferences(t *testing.T) {
	folder := t.TempDir()
	changed := strings.NewReplacer(
		"20s", "30s", hashA, hashB, "Ada Lovelace", "Grace Hopper", keyA, keyB, "http://b.example", "http://c.example", "{name: westus, displayName: West US}, ", "{name: northeurope}, {name: westus, displayName: West US}, ",
	).Replace(differing)
	got := Differences(loaded(t, folder, differing), loaded(t, folder, changed))
	want := []Difference{
		{"lists.tokenKeys[first].key", setting.Redacted, setting.Redacted},
		{"providers[Contoso.Compute].endpoints.eastus[http://b.example]", "http://b.example", ""},
		{"providers[Contoso.Compute].endpoints.eastus[http://c.example]", "", "http://c.example"},
		{"regions[northeurope].name", "", "northeurope"},
		{"server.adminToken.name", setting.Redacted, setting.Redacted},
		{"server.adminToken.sha256", setting.Redacted, setting.Redacted},
		{"upstream.callTimeout", "20s", "30s"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if same := Differences(loaded(t, folder, differing), loaded(t, folder, differing)); len(same) > 0 {
		t.Errorf("a configuration differs from itself: %q", same)
	}
}

// Two tokens of one tenant are two settings, of which one may go; which headers a provider
// is sent is no secret.
func TestLinesTellItemsApart(t *testing.T) {
	token := func(digit string) string {
		return "{sha256: " + strings.Repeat(digit, 64) + ", tenantId: 00000000-0000-0000-0000-0000000000aa, objectId: 00000000-0000-0000-0000-0000000000bb}"
	}
	folder := t.TempDir()
	load := func(tokens ...string) *Config {
		text := strings.Replace(differing, "    endpoints:", "    headers: {request: [X-Contoso-Trace]}\n    endpoints:", 1)
		return loaded(t, folder, text+"auth: {mode: tokens, tokens: ["+strings.Join(tokens, ", ")+"]}\n")
	}
	both := load(token("c"), token("d"))
	paths := map[string]bool{}
	for _, l := range both.Lines() {
		if paths[l.Path] {
			t.Errorf("two lines are %s", l.Path)
		}
		paths[l.Path] = true
	}
	if !paths["providers[Contoso.Compute].headers.request[X-Contoso-Trace]"] {
		t.Error("the name of a header that passes is not shown")
	}
	if gone := Differences(both, load(token("d"), token("c"))); len(gone) != 0 {
		t.Errorf("the order of tokens differs: %v", gone)
	}
	for _, d := range Differences(both, load(token("e"), token("d"))) {
		if strings.Contains(d.Path, "auth.tokens") && d.From != "" && d.To != "" {
			t.Errorf("another token is %s, which has changed", d.Path)
		}
	}
}

// What is shown of a configuration with every setting holds none of its secrets.
func TestLinesShowNoSecrets(t *testing.T) {
	secrets := []string{hashA, keyA, "Ada Lovelace", "hunter2", "whsec_" + strings.Repeat("A", 32), "hook-secret"}
	text := differing + `
store: {driver: postgres, dsn: "postgres://portico:hunter2@db/portico"}
auth: {tokens: [{sha256: "` + strings.Repeat("c", 64) + `", tenantId: 00000000-0000-0000-0000-0000000000aa, objectId: 00000000-0000-0000-0000-0000000000bb, name: Ada Lovelace}], mode: tokens, roles: ignored}
events: {sinks: [{name: hook, url: "https://hooks.example/hook-secret?sig=hook-secret", secret: "whsec_` + strings.Repeat("A", 32) + `"}]}
`
	lines := loaded(t, t.TempDir(), text).Lines()
	paths := map[string]string{}
	for _, l := range lines {
		paths[l.Path] = l.Value
		for _, secret := range append(secrets, strings.Repeat("c", 64)) {
			if strings.Contains(l.Path+l.Value, secret) {
				t.Errorf("%s: %s", l.Path, l.Value)
			}
		}
	}
	for path, value := range map[string]string{
		"store.driver": "postgres", "store.dsn": setting.Redacted, "events.sinks[hook].url": setting.Redacted, "events.sinks[hook].secret": setting.Redacted,
		"jobs.lease": "10s", "server.publicURL": "http://portico.example",
	} {
		if paths[path] != value {
			t.Errorf("%s: %q, want %q", path, paths[path], value)
		}
	}
}
