package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"portico/test/harness"
)

// The way in, as docs/providers.md has it: its provider, its certify.yaml and its
// commands, put behind a demonstration. The requests that this prints then work.
func TestDemoWithAProviderOfOnesOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	provider := startFirstProvider(t)
	writeCertifyFile(t, dir, provider)
	address, admin := harness.FreeAddress(t), harness.FreeAddress(t)
	demo := harness.Start(t, "portico demo", dir, harness.Build(t).Portico,
		"demo", "--listen", address, "--admin", admin, "--data", "data", "--provider", provider)
	var lines []string
	all := eventually(t, "requests to the provider, and the last that the demo prints", func() ([]string, bool) {
		all := curlLines(demo.Stdout())
		lines = slices.DeleteFunc(slices.Clone(all), func(line string) bool { return !strings.Contains(line, "/Acme.Stuff/") })
		return all, len(lines) == 2 && strings.HasSuffix(all[len(all)-1], "/contoso/faults'")
	})
	if deleted := slices.IndexFunc(all, func(line string) bool { return kindOf(line) == "deletion that waits" }); deleted < slices.Index(all, lines[1]) {
		t.Errorf("the demo's group is deleted before they can be tried: %q", all)
	}
	eventually(t, "a ready demo", func() (struct{}, bool) {
		status, err := get(t, "http://"+admin+"/readyz")
		return struct{}{}, err == nil && status == 200
	})
	group := slices.IndexFunc(all, func(line string) bool { return kindOf(line) == "put group" })
	run(t, dir, all[group])
	if created := body200(t, run(t, dir, lines[0])); !strings.Contains(squeeze(created), `"size":"small"`) {
		t.Errorf("%s\nshows %s", lines[0], created)
	}
	if list := body200(t, run(t, dir, lines[1])); !strings.Contains(list, "/providers/Acme.Stuff/widgets/first") {
		t.Errorf("%s\nshows %s", lines[1], list)
	}
	straight := harness.Start(t, "portico certify", dir, harness.Build(t).Portico, "certify", "--config", "certify.yaml", "--report", "report")
	exits(t, straight, 0)
	throughDoor(t, dir, "http://"+address)
	behind := harness.Start(t, "portico certify", dir, harness.Build(t).Portico, "certify", "--config", "behind.yaml", "--report", "behind")
	exits(t, behind, 0)
	demo.Stop(t, syscall.SIGINT)
}

// A provider that was written from the documentation alone, in another language, keeps
// what it claims, and the operations of which it says how to ask for them are tried.
func TestCertifyAProviderWrittenFromTheDocumentation(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs(filepath.FromSlash("../garden"))
	harness.OK(t, err)
	text, err := os.ReadFile(filepath.Join(folder, "certify.yaml"))
	harness.OK(t, err)
	p := harness.Start(t, "garden", folder, "node", "server.mjs", "--port", "0", "--region", "westus")
	const prefix = "serving Fabrikam.Garden in westus on "
	url := strings.TrimPrefix(p.WaitLine(t, prefix), prefix)
	dir := t.TempDir()
	harness.OK(t, os.WriteFile(filepath.Join(dir, "certify.yaml"), []byte(strings.ReplaceAll(string(text), "http://127.0.0.1:9000", url)), 0o600))
	suite := harness.Start(t, "portico certify", dir, harness.Build(t).Portico, "certify", "--config", "certify.yaml")
	exits(t, suite, 0)
	for _, profile := range []string{"core", "tracked", "nested", "tags", "etags", "subscriptions", "asynchronous"} {
		if got := (certified{stdout: suite.Stdout()}).verdict(profile); got != "kept" {
			t.Errorf("%s: %s", profile, got)
		}
	}
}

// throughDoor writes behind.yaml: certify.yaml with a front door in place of endpoints.
func throughDoor(t *testing.T, dir, url string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "certify.yaml"))
	harness.OK(t, err)
	changed := regexp.MustCompile("(?m)^tenant: .*\n").ReplaceAll(text, nil)
	changed = regexp.MustCompile("(?m)^endpoints: .*$").ReplaceAll(changed, []byte(`portico: {url: "`+url+`"}`))
	harness.OK(t, os.WriteFile(filepath.Join(dir, "behind.yaml"), changed, 0o600))
}

// startFirstProvider runs the provider of the documentation and returns its URL.
func startFirstProvider(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs(filepath.FromSlash("../../docs/first-provider.mjs"))
	harness.OK(t, err)
	p := harness.Start(t, "first provider", t.TempDir(), "node", program, "0", "westus")
	const prefix = "serving Acme.Stuff/widgets in westus on "
	return strings.TrimPrefix(p.WaitLine(t, prefix), prefix)
}

// writeCertifyFile writes the documentation's certify.yaml for a provider at the URL.
func writeCertifyFile(t *testing.T, dir, provider string) {
	t.Helper()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/providers.md"))
	harness.OK(t, err)
	found := regexp.MustCompile("(?s)```yaml\n(subscription: .*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/providers.md shows no certify.yaml")
	}
	text := strings.ReplaceAll(string(found[1]), "http://127.0.0.1:9000", provider)
	harness.OK(t, os.WriteFile(filepath.Join(dir, "certify.yaml"), []byte(text), 0o600))
}
