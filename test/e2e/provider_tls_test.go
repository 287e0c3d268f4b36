package e2e

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// trustWorld has providers that demand a certificate of Portico's, by an authority of
// their own clients.
type trustWorld struct {
	*harness.World
	clients *harness.Authority
	folder  string // of the certificate that Portico shows
}

// fastProbes make the health of endpoints known soon, and their circuits stay closed: a
// call that is refused says why.
const fastProbes = "health: {probe: {interval: 100ms, timeout: 2s}, circuit: {failures: 0}}\n"

// newTrustWorld starts them. Portico shows the pair that show writes into its files; it
// trusts the providers' authority.
func newTrustWorld(t *testing.T, change func(c *harness.Config, of trustWorld), show func(of trustWorld) harness.Pair) trustWorld {
	t.Helper()
	servers := harness.NewAuthority(t)
	w := trustWorld{clients: harness.NewAuthority(t), folder: t.TempDir()}
	server := servers.Issue(t, harness.Leaf{Name: "localhost", Server: true})
	config := harness.Config{Server: unwatched, Extra: fmt.Sprintf("upstream: {tls: {ca: %q}}\n", servers.File) + fastProbes}
	if show != nil {
		w.show(t, show(w))
		config.Extra = fmt.Sprintf("upstream: {tls: {ca: %q, cert: %q, key: %q}}\n", servers.File, w.cert(), w.key()) + fastProbes
	}
	if change != nil {
		change(&config, w)
	}
	w.World = harness.NewWorld(t, harness.WorldOptions{Config: config, Contoso: harness.ContosoOptions{TLS: &server, Clients: w.clients}})
	return w
}

func (w trustWorld) cert() string { return w.folder + "/gateway.crt" }
func (w trustWorld) key() string  { return w.folder + "/gateway.key" }

// show writes a pair into the files that Portico shows.
func (w trustWorld) show(t *testing.T, p harness.Pair) { t.Helper(); p.Write(t, w.cert(), w.key()) }

// gateway is a certificate that the providers trust.
func (w trustWorld) gateway(t *testing.T) harness.Pair {
	t.Helper()
	return w.clients.Issue(t, harness.Leaf{Name: "portico"})
}

// upstreamErrors is how often calls have failed with one of these kinds.
func upstreamErrors(t *testing.T, p *harness.Portico, kinds string) (sum float64) {
	t.Helper()
	for _, found := range regexp.MustCompile(`(?m)^portico_upstream_errors_total\{.*kind="(?:`+kinds+`)".*\} (\S+)$`).FindAllStringSubmatch(p.Metrics(t), -1) {
		v, err := strconv.ParseFloat(found[1], 64)
		harness.OK(t, err)
		sum += v
	}
	return sum
}

// wantNoKey looks for the gateway's key in its log.
func (w trustWorld) wantNoKey(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(w.key())
	harness.OK(t, err)
	if strings.Contains(w.Portico.Logs(), strings.Split(string(text), "\n")[1]) {
		t.Error("a key is in the log")
	}
}

// Whatever Portico asks of providers that demand its certificate, it shows it: for
// clients and for itself.
func TestEveryCallShowsTheCertificate(t *testing.T) {
	t.Parallel()
	w := newTrustWorld(t, func(c *harness.Config, _ trustWorld) {
		c.ComputeRegistration = "required"
	}, func(of trustWorld) harness.Pair { return of.gateway(t) })
	p := w.Portico
	// No one else is answered.
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}}
	defer stranger.CloseIdleConnections()
	a, err := stranger.Get(w.Contoso("westus").URL + w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version)
	harness.OK(t, err)
	_ = a.Body.Close()
	if a.StatusCode != http.StatusForbidden {
		t.Fatalf("a caller without a certificate: %d", a.StatusCode)
	}

	p.Do(t, harness.Request{Method: http.MethodPost, Path: w.SubscriptionPath() + "/providers/Contoso.Compute/register?api-version=2021-04-01"}).Want(t, 200)
	soon(t, "the providers know of the subscription", func() bool {
		for _, region := range append(harness.RegionNames(), "global") {
			if w.Contoso(region).Notifications(t)[harness.SubscriptionID].Namespaces["contoso.compute"] != "Registered" {
				return false
			}
		}
		return true
	})
	w.PutGroup(t, "rg")
	for _, region := range harness.RegionNames() {
		w.PutResource(t, "rg", machines+"vm-"+region, body(region))
		w.PutResource(t, "rg", "Contoso.Insight/workspaces/w-"+region, body(region))
		p.Do(t, harness.Request{Path: w.ResourcePath("rg", machines+"vm-"+region) + "?api-version=" + harness.Version}).Want(t, 200)
	}
	w.PutResource(t, "rg", "Contoso.Insight/profiles/global", `{"location":"global"}`)
	if all := p.Do(t, harness.Request{Path: w.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version}).Want(t, 200).Values(t); len(all) != len(harness.RegionNames()) {
		t.Errorf("a merged list of %d", len(all))
	}
	p.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"slow") + "?api-version=" + harness.Version, Body: body("eastus"),
		Header: harness.Header("x-contoso-async", "azure-async", "x-contoso-duration", "100ms"),
	}).Want(t, 201)
	soon(t, "an operation's end", func() bool {
		return strings.Contains(string(p.Do(t, harness.Request{Path: w.ResourcePath("rg", machines+"slow") + "?api-version=" + harness.Version}).Want(t, 200).Body), `"Succeeded"`)
	})
	p.Do(t, harness.Request{Method: http.MethodPost, Path: w.ResourcePath("rg", machines+"vm-westus") + "/start?api-version=" + harness.Version}).Want(t, 200, 202, 204)
	sweep := harness.Start(t, "portico sweep", t.TempDir(), harness.Build(t).Portico, "sweep", "--config", p.ConfigFile, "--timeout", "60s")
	if code := sweep.ExitCode(t); code != 0 {
		t.Errorf("a sweep ended with %d: %s", code, sweep.Stderr())
	}
	soon(t, "probes of all addresses", func() bool {
		return len(regexp.MustCompile(`(?m)^portico_endpoint_probes_total\{.*outcome="good",.*\} [1-9]`).FindAllString(p.Metrics(t), -1)) == len(harness.RegionNames())+1
	})
	beginDelete(t, w.World, p, "rg").gone(t, p)
	for _, region := range append(harness.RegionNames(), "global") {
		if left := w.Contoso(region).Resources(t); len(left) > 0 {
			t.Errorf("%s holds %q", region, left)
		}
	}
	if n := upstreamErrors(t, p, "untrusted|tls.*"); n != 0 {
		t.Errorf("%v calls were not trusted", n)
	}
	w.wantNoKey(t)
}

// A certificate that providers do not trust is the operator's fault: clients get 502 for
// what changed nothing, the log and the metrics say what is wrong, and all goes on once
// it is mended, the delete of a group included.
func TestProvidersRefuseTheCertificate(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]func(of trustWorld) harness.Pair{
		"none":               nil,
		"of another gateway": func(trustWorld) harness.Pair { return harness.NewAuthority(t).Issue(t, harness.Leaf{Name: "portico"}) },
		"that has ended": func(of trustWorld) harness.Pair {
			return of.clients.Issue(t, harness.Leaf{Name: "portico", Ended: true})
		},
		"that is for servers and no CA": func(of trustWorld) harness.Pair {
			return of.clients.Issue(t, harness.Leaf{Name: "portico", Server: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first harness.Pair
			w := newTrustWorld(t, nil, func(of trustWorld) harness.Pair { first = of.gateway(t); return first })
			p := w.Portico
			w.PutGroup(t, "rg")
			w.PutResource(t, "rg", machines+"vm", body("eastus"))
			p.Do(t, harness.Request{Path: w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version}).Want(t, 200)

			config := w.Config
			var bad harness.Pair
			if shown == nil {
				config.Extra = regexp.MustCompile(`, cert: .*, key: [^}]*`).ReplaceAllString(config.Extra, "")
				p.Write(t, p.Text(t, config))
			} else {
				bad = shown(w)
				w.show(t, bad)
			}
			reload(t, p).Want(t, 200)
			vm := w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version
			refused := p.Do(t, harness.Request{Path: vm}).WantError(t, 502, "BadGatewayConnection")
			if text := string(refused.Body); strings.Contains(text, "ertificate") {
				t.Errorf("the client is told: %s", text)
			}
			for _, region := range harness.RegionNames() {
				w.Contoso(region).ForgetRequests(t)
			}
			p.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"new") + "?api-version=" + harness.Version, Body: body("westus")}).WantError(t, 502, "BadGatewayConnection")
			list := w.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version
			p.Do(t, harness.Request{Path: list}).Want(t, 503)
			if rows := p.Do(t, harness.Request{Path: w.GroupPath("rg") + "/resources?api-version=2021-04-01"}).Want(t, 200).Values(t); len(rows) != 1 {
				t.Errorf("the write that was refused left %d rows", len(rows))
			}
			if n := len(w.Contoso("westus").Requests(t)); n != 1 && n != 0 {
				t.Errorf("the provider took %d requests", n)
			}
			if upstreamErrors(t, p, "untrusted") < 3 {
				t.Error("refusals are not counted")
			}
			line := eventually(t, "a line of the log", func() (line string, found bool) {
				for l := range strings.Lines(p.Log()) {
					if strings.Contains(l, "does not trust the certificate of this gateway") && strings.Contains(l, `"region":"eastus"`) {
						line = l
					}
				}
				return line, line != ""
			})
			if !strings.Contains(line, `"level":"error"`) || !strings.Contains(line, "Contoso.Compute") || shown != nil && !strings.Contains(line, bad.Fingerprint()) {
				t.Errorf("the log says %s", line)
			}
			w.wantNoKey(t)

			d := beginDelete(t, w.World, p, "rg")
			soon(t, "the delete of the group is refused", func() bool { return upstreamErrors(t, p, "untrusted") > 4 })
			if shown == nil {
				p.Write(t, p.Text(t, w.Config))
			}
			w.show(t, w.gateway(t))
			reload(t, p).Want(t, 200)
			d.gone(t, p)
			w.PutGroup(t, "rg2")
			w.PutResource(t, "rg2", machines+"vm", body("eastus"))
		})
	}
}

// A provider whose own certificate is not to be trusted gets nothing.
func TestProviderThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	authority, stranger := harness.NewAuthority(t), harness.NewAuthority(t)
	for kind, pair := range map[string]harness.Pair{
		"tls_authority": stranger.Issue(t, harness.Leaf{Name: "localhost", Server: true}),
		"tls_host":      authority.Issue(t, harness.Leaf{Name: "provider.example", Server: true, Remote: true}),
		"tls_expired":   authority.Issue(t, harness.Leaf{Name: "localhost", Server: true, Ended: true}),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := harness.StartContoso(t, "eastus", harness.ContosoOptions{TLS: &pair})
			w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
				Endpoints: map[string]string{"eastus": c.URL}, ComputeTLS: fmt.Sprintf("{ca: %q}", authority.File),
				Extra: "health: {circuit: {failures: 0}}\n",
			}})
			w.PutGroup(t, "rg")
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version, Body: body("eastus")}).
				WantError(t, 502, "BadGatewayConnection")
			if len(c.Requests(t)) != 0 {
				t.Error("the provider took a request")
			}
			if upstreamErrors(t, w.Portico, kind) < 1 {
				t.Error("it is not counted")
			}
			soon(t, "a line of the log", func() bool {
				log := w.Portico.Log()
				return strings.Contains(log, "a provider's certificate cannot be trusted") && strings.Contains(log, `"reason":"`+kind+`"`)
			})
		})
	}
}

// Two providers of one host are called by identities of their own.
func TestIdentityOfEachProvider(t *testing.T) {
	t.Parallel()
	stranger := harness.NewAuthority(t).Issue(t, harness.Leaf{Name: "insight"})
	w := newTrustWorld(t, func(c *harness.Config, of trustWorld) {
		own := of.gateway(t)
		c.ComputeTLS = fmt.Sprintf("{cert: %q, key: %q}", own.CertFile, own.KeyFile)
		c.InsightTLS = fmt.Sprintf("{cert: %q, key: %q}", stranger.CertFile, stranger.KeyFile)
	}, nil)
	p := w.Portico
	w.PutGroup(t, "rg")
	for range 3 {
		for _, region := range harness.RegionNames() {
			w.PutResource(t, "rg", machines+"vm-"+region, body(region))
			p.Do(t, harness.Request{Path: w.ResourcePath("rg", machines+"vm-"+region) + "?api-version=" + harness.Version}).Want(t, 200)
			p.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", "Contoso.Insight/workspaces/w") + "?api-version=" + harness.Version, Body: body(region)}).WantError(t, 502, "BadGatewayConnection")
		}
	}
	const expiry = "portico_certificate_expiry_timestamp_seconds"
	for _, use := range []string{"Contoso.Compute", "Contoso.Insight"} {
		if metric(t, p, expiry, `use="`+use+`"`) <= 0 {
			t.Errorf("the end of the certificate towards %s is not shown", use)
		}
	}
	if metric(t, p, expiry, `use="upstream"`) != -1 {
		t.Error("a common certificate is shown, and there is none")
	}
}

// No call is lost while the certificate is exchanged again and again, and a pair that
// does not fit leaves the one before in use.
func TestCertificateIsRotatedUnderLoad(t *testing.T) {
	t.Parallel()
	w := newTrustWorld(t, nil, func(of trustWorld) harness.Pair { return of.gateway(t) })
	p := w.Portico
	w.PutGroup(t, "rg")
	l := startLoad(t, w.World, p.URL, "rg")
	for i := range 8 {
		l.more(t)
		before := p.Metric(t, generation)
		if i%4 == 3 {
			other := w.gateway(t)
			text, err := os.ReadFile(other.KeyFile)
			if err == nil {
				err = os.WriteFile(w.key(), text, 0o600)
			}
			harness.OK(t, err)
			if a := reload(t, p).Want(t, 400); !strings.Contains(string(a.Body), w.cert()) {
				t.Errorf("the fault is %s", a.Body)
			}
			if p.Metric(t, generation) != before || p.Metric(t, success) != 0 {
				t.Error("a pair that does not fit was taken")
			}
			continue
		}
		w.show(t, w.gateway(t))
		reload(t, p).Want(t, 200)
	}
	l.end(t)
	if n := upstreamErrors(t, p, "untrusted|tls.*|broken"); n != 0 {
		t.Errorf("%v calls have failed", n)
	}
	w.wantNoKey(t)
}

// A provider that knows Portico by a secret gets it from a file, which is read anew.
func TestCredentialTowardsAProvider(t *testing.T) {
	t.Parallel()
	var accepted atomic.Value
	accepted.Store("Bearer first-secret")
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != accepted.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"name":%q,"type":"Acme.Stuff/things","location":"westus"}`, r.URL.Path, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	}))
	defer provider.Close()
	file := t.TempDir() + "/credential"
	write := func(text string) {
		t.Helper()
		harness.OK(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("Bearer first-secret\n")
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: unwatched, Providers: fmt.Sprintf(`  - namespace: Acme.Stuff
    registration: automatic
    credential: {file: %q}
    endpoints: {global: [%q], westus: [%q]}
    resourceTypes: [{name: things, kind: tracked, apiVersions: ["2024-01-01"]}]`, file, provider.URL, provider.URL)}})
	p := w.Portico
	w.PutGroup(t, "rg")
	thing := harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", "Acme.Stuff/things/t") + "?api-version=" + harness.Version, Body: body("westus")}
	p.Do(t, thing).Want(t, 200, 201)
	accepted.Store("Bearer second-secret")
	refused := p.Do(t, thing).WantError(t, 502, "BadGatewayConnection")
	if refused.Header.Get("WWW-Authenticate") != "" {
		t.Error("the client is asked for another token")
	}
	write("")
	if a := reload(t, p).Want(t, 400); !strings.Contains(string(a.Body), file) {
		t.Errorf("the fault is %s", a.Body)
	}
	write("Bearer second-secret\n")
	reload(t, p).Want(t, 200)
	p.Do(t, thing).Want(t, 200, 201)
	if strings.Contains(p.Logs(), "-secret") {
		t.Error("the secret is in the log")
	}
}
