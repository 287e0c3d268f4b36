package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

func TestCertifyRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	endpoint := harness.StartContoso(t, "westus", harness.ContosoOptions{})
	global := harness.StartContoso(t, "global", harness.ContosoOptions{})
	for _, row := range []struct {
		what   string
		change func(f certifyFile)
		args   []string
		says   []string
	}{
		{"an unknown key", func(f certifyFile) { f["surprise"] = 1 }, nil, []string{"certify.yaml:", `unknown key "surprise" (allowed: subscription, `}},
		{"an unknown profile", func(f certifyFile) { f["profiles"] = []string{"perfection"} }, nil, []string{"certify.yaml:", `"perfection" is not a valid profile (allowed: core, `}},
		{"no way", func(f certifyFile) { delete(f, "endpoints") }, nil, []string{"certify.yaml:1: neither endpoints nor portico is given"}},
		{"an unknown profile in a flag", nil, []string{"--profile", "perfection"}, []string{`--profile: there is no "perfection" (allowed: core, `}},
		{"an unknown case", nil, []string{"--case", "put/everything"}, []string{`--case: there is no "put/everything"`, "--list"}},
		{"a case that is not claimed", nil, []string{"--case", "subscription/deleted"}, []string{"of the profile subscriptions, which is not claimed"}},
		{"an unknown flag", nil, []string{"--all"}, []string{"unknown flag: --all"}},
		{"nobody there", func(f certifyFile) {
			f["endpoints"] = map[string]string{"westus": "http://" + harness.FreeAddress(t), "global": global.URL}
		}, nil, []string{"connection refused"}},
		{"no front door there", func(f certifyFile) {
			delete(f, "endpoints")
			f["portico"] = map[string]string{"url": "http://" + harness.FreeAddress(t), "tokenFile": writeToken(t, harness.Token{Raw: "sesame"})}
		}, nil, []string{"connection refused"}},
	} {
		t.Run(row.what, func(t *testing.T) {
			f := contosoFile(t).straightAt(endpoint, global)
			if row.change != nil {
				row.change(f)
			}
			c := certify(t, f, 2, row.args...)
			for _, want := range row.says {
				if !strings.Contains(c.stderr, want) {
					t.Errorf("it does not say %q but %s", want, c.stderr)
				}
			}
			if c.stdout != "" {
				t.Errorf("it prints %s", c.stdout)
			}
		})
	}
	if ids := endpoint.IDs(t); len(ids) > 0 {
		t.Errorf("something was made: %q", ids)
	}
}

func TestCertifyListsItsCases(t *testing.T) {
	t.Parallel()
	run := func(exit int, args ...string) (stdout, stderr string) {
		p := harness.Start(t, "portico certify", t.TempDir(), harness.Build(t).Portico, append([]string{"certify"}, args...)...)
		if code := p.ExitCode(t); code != exit {
			t.Fatalf("%q: exit code %d, want %d\n%s%s", args, code, exit, p.Stdout(), p.Stderr())
		}
		return p.Stdout(), p.Stderr()
	}
	table, _ := run(0, "--list")
	if !strings.HasPrefix(table, "ID ") || !strings.Contains(table, "put/creates-with-201") || !strings.Contains(table, "resource reference, Put Resource") {
		t.Errorf("the list is\n%s", table)
	}
	text, _ := run(0, "--list", "-o", "json")
	var list struct {
		Value []struct{ ID, Profile, Rule, Section string }
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Value) != strings.Count(table, "\n")-1 {
		t.Fatal(len(list.Value), err)
	}
	for _, c := range list.Value {
		if c.ID == "" || c.Profile == "" || c.Rule == "" || c.Section == "" {
			t.Errorf("%+v", c)
		}
	}
	if _, says := run(2); !strings.Contains(says, "certify.yaml") {
		t.Errorf("without a file it says %s", says)
	}
	if _, says := run(2, "--compare", "a"); !strings.Contains(says, "2 arg") {
		t.Errorf("--compare with one file says %s", says)
	}
	if _, says := run(2, "--compare", "nowhere.json", "nowhere.json"); !strings.Contains(says, "nowhere.json") {
		t.Errorf("--compare of what is not there says %s", says)
	}
}

func TestCertifyComparesRuns(t *testing.T) {
	t.Parallel()
	global := harness.StartContoso(t, "global", harness.ContosoOptions{})
	run := func(exit int, args ...string) string {
		endpoint := harness.StartContoso(t, "westus", harness.ContosoOptions{Args: args})
		return filepath.Join(certify(t, contosoFile(t).straightAt(endpoint, global), exit, "--case", "delete/of-what-never-was").reports, "results.json")
	}
	good, bad := run(0), run(1, "--break", "delete-absent-404")
	for _, row := range []struct {
		before, after string
		exit          int
	}{{good, bad, 1}, {bad, good, 0}, {good, good, 0}} {
		p := harness.Start(t, "portico certify", t.TempDir(), harness.Build(t).Portico, "certify", "--compare", row.before, row.after)
		if code := p.ExitCode(t); code != row.exit || row.before != row.after && !strings.Contains(p.Stdout(), "delete/of-what-never-was") {
			t.Errorf("exit code %d, want %d\n%s%s", code, row.exit, p.Stdout(), p.Stderr())
		}
	}
}

// A provider that asks for the front door's certificate is shown it.
func TestCertifyShowsItsCertificate(t *testing.T) {
	t.Parallel()
	servers, clients := harness.NewAuthority(t), harness.NewAuthority(t)
	server, client := servers.Issue(t, harness.Leaf{Name: "localhost", Server: true}), clients.Issue(t, harness.Leaf{Name: "front"})
	options := harness.ContosoOptions{TLS: &server, Clients: clients}
	f := contosoFile(t).straightAt(harness.StartContoso(t, "westus", options), harness.StartContoso(t, "global", options))
	f["tls"] = map[string]string{"ca": servers.File, "cert": client.CertFile, "key": client.KeyFile}
	if c := certify(t, f, 0, "--case", "put/creates-with-201"); c.verdict("core") != "kept" {
		t.Errorf("with a certificate it says\n%s", c.stdout)
	}
	cases := "certificate/none-is-refused,certificate/an-untrusted-one-is-refused,certificate/an-untrusted-call-does-nothing,get/head-has-no-body-on-the-wire"
	if c := certify(t, f, 0, "--case", cases, "--profile", "core,certificates"); c.verdict("certificates") != "kept" || c.verdict("core") != "kept" {
		t.Errorf("of who is refused it says\n%s", c.stdout)
	}
	f["tls"] = map[string]string{"ca": servers.File}
	if c := certify(t, f, 1, "--case", "put/creates-with-201"); !strings.Contains(c.stderr, "refuses the notice of the subscription: 403") || c.verdict("core") != "not kept" {
		t.Errorf("without a certificate it says\n%s%s", c.stdout, c.stderr)
	}
	delete(f, "tls")
	if c := certify(t, f, 2, "--case", "put/creates-with-201"); !strings.Contains(c.stderr, "certificate signed by unknown authority") {
		t.Errorf("without the authorities it says\n%s", c.stderr)
	}
}
