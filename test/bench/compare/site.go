package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"portico/test/bench/peers"
	"portico/test/harness"
)

// proxy is a process to measure.
type proxy struct {
	peers.Peer
	workers int
	tokens  []string          // of its callers, where these are not all proxies' ones
	log     string            // the file of its log, "" where it has none
	store   *harness.Postgres // the server of its database, if it has one
}

// site is everything that runs.
type site struct {
	proxies []proxy
	workers []int // in ascending order
}

// workerCounts returns 1, 2, 4 and the number of processors.
func workerCounts(processors int) []int {
	counts := []int{processors}
	for _, n := range []int{1, 2, 4} {
		if n < processors {
			counts = append(counts, n)
		}
	}
	slices.Sort(counts)
	return counts
}

// startSite runs what the loads are sent to.
func startSite(t testing.TB, loads []scenario) *site {
	t.Helper()
	takes := func(name string) bool {
		return slices.ContainsFunc(loads, func(c scenario) bool { return slices.Contains(c.proxies, name) })
	}
	s := &site{workers: workerCounts(runtime.NumCPU())}
	addresses, providerPID := peers.StartProvider(t, regions, pageSize)
	var urls []string
	for _, address := range addresses {
		urls = append(urls, "http://"+address)
	}
	most := slices.Max(s.workers)
	if takes(porticoIssuer) {
		s.startSignIn(t, most, urls)
	}
	if !takes(portico) {
		return s
	}
	s.proxies = append(s.proxies,
		proxy{Peer: peers.Peer{Name: direct, URL: urls[0], PID: providerPID}, workers: most},
		proxy{Peer: peers.StartMerger(t, urls), workers: most})
	certificate := harness.NewCertificate(t, t.TempDir())
	postgres := harness.StartPostgres(t)
	for _, workers := range s.workers {
		options := peers.Options{Provider: addresses[0], Workers: workers, Certificate: certificate, OwnPath: missing, OwnAnswer: notFound}
		for _, start := range []func(testing.TB, peers.Options) peers.Peer{peers.StartReverseProxy, peers.StartNginx, peers.StartHAProxy, peers.StartCaddy} {
			s.proxies = append(s.proxies, proxy{Peer: start(t, options), workers: workers})
		}
		s.proxies = append(s.proxies,
			startPortico(t, portico, workers, harness.Config{}, urls),
			startPortico(t, porticoPostgres, workers, harness.Config{Postgres: postgres.CreateDatabase(t, "portico"+strconv.Itoa(workers))}, urls))
		s.proxies[len(s.proxies)-1].store = postgres
	}
	// Portico's listener speaks either HTTP or HTTPS.
	secure := startPortico(t, portico, most, harness.Config{TLS: true}, urls)
	secure.URL, secure.SecureURL = "", secure.URL
	s.proxies = append(s.proxies, secure)
	return s
}

// startSignIn runs the gateways whose callers sign in in two ways.
func (s *site) startSignIn(t testing.TB, workers int, urls []string) {
	t.Helper()
	issuer := harness.NewIssuer(t)
	guarded := startPortico(t, porticoIssuer, workers, harness.Config{Auth: issuer.Auth("", "")}, urls)
	for i := range tokens() {
		guarded.tokens = append(guarded.tokens, issuer.Token(t, "oid", callerID(i)))
	}
	s.proxies = append(s.proxies, guarded, startPortico(t, porticoKnown, workers, harness.Config{Auth: "  roles: ignored", Owners: []string{}}, urls))
}

// startPortico runs Portico and creates the resources that the loads read.
func startPortico(t testing.TB, name string, workers int, config harness.Config, urls []string) proxy {
	t.Helper()
	config.Endpoints = map[string]string{"global": urls[0]}
	names := harness.RegionNames()
	for i := len(names); i < len(urls); i++ {
		config.Regions = append(config.Regions, fmt.Sprintf("region%d", i))
	}
	names = append(names, config.Regions...)
	for i, url := range urls {
		config.Endpoints[names[i]] = url
	}
	const owner = "00000000-0000-0000-0000-0000000000ff"
	config.Tokens = []harness.Token{{Raw: "the owner's token", TenantID: harness.TenantID, ObjectID: owner, Name: "owner"}}
	if config.Owners == nil {
		config.Owners = []string{owner}
	}
	for i, token := range tokens() {
		config.Tokens = append(config.Tokens, harness.Token{Raw: token, TenantID: harness.TenantID, ObjectID: callerID(i), Name: fmt.Sprintf("caller %d", i)})
	}
	config.LogFile = filepath.Join(t.TempDir(), "log")
	config.Environment = []string{"GOMAXPROCS=" + strconv.Itoa(workers)}
	// For a PUT of new ones, again and again. Requests are counted as in production, and
	// none is refused.
	const plenty = "{bucket: 1000000000, perSecond: 1000000000}"
	config.Extra = "limits: {resourcesPerTypeAndGroup: 100000000}\nthrottle: {reads: " + plenty + ", writes: " + plenty + ", deletes: " + plenty + "}\n"
	p := harness.StartPortico(t, config)
	put := func(path, body string) {
		t.Helper()
		p.Do(t, harness.Request{Method: "PUT", Path: path + apiVersion, Body: body}).Want(t, 200, 201)
	}
	for i := range tokens() {
		assign(t, p, callerID(i))
	}
	put(subscription+"/resourceGroups/rg", `{"location":"westus"}`)
	for i := range instances {
		put(fmt.Sprintf("%svm%03d", machines, i), body())
	}
	put(machines+peers.LargeName, body())
	for _, region := range names {
		put(machines+"in-"+region, `{"location":"`+region+`"}`)
	}
	return proxy{Peer: peers.Peer{Name: name, URL: p.URL, PID: p.Pid()}, workers: workers, log: config.LogFile}
}

// callerID is the object id of a caller.
func callerID(i int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", i+1) }

// assign makes a caller a contributor of the subscription.
func assign(t testing.TB, p *harness.Portico, caller string) {
	t.Helper()
	const contributor = "/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c"
	p.Do(t, harness.Request{
		Method: "PUT", Path: subscription + "/providers/Microsoft.Authorization/roleAssignments/" + uuid.NewString() + "?api-version=2022-04-01",
		Body: fmt.Sprintf(`{"properties":{"roleDefinitionId":%q,"principalId":%q,"principalType":"User"}}`, subscription+contributor, caller),
	}).Want(t, 201)
}

// of returns the proxies that take a scenario.
func (s *site) of(c scenario) []proxy {
	var taking []proxy
	for _, p := range s.proxies {
		url := p.URL
		if c.secure {
			url = p.SecureURL
		}
		if slices.Contains(c.proxies, p.Name) && url != "" && (c.anyWorkers || p.workers == slices.Max(s.workers)) {
			taking = append(taking, p)
		}
	}
	return taking
}

// emptyLog empties a proxy's log, so that the disk is not still writing it during the
// next load.
func (p proxy) emptyLog(t testing.TB) {
	t.Helper()
	if p.log == "" {
		return
	}
	if err := os.Truncate(p.log, 0); err != nil {
		t.Fatal(err)
	}
}
