package status

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"portico/gateway/admin/api"
)

// codes are those of the problems, with their subjects.
func (f *finding) codes() string {
	var all []string
	for _, p := range f.sorted() {
		if p.Summary == "" || !slices.Contains([]string{api.Critical, api.Warning, api.Planned}, p.Severity) {
			all = append(all, fmt.Sprintf("%+v", p))
		}
		all = append(all, strings.TrimSpace(p.Code+" "+p.Subject))
	}
	return strings.Join(all, ", ")
}

func ago(d time.Duration) *time.Time {
	t := time.Now().Add(-d)
	return &t
}

func TestProblemsOfRegions(t *testing.T) {
	up, down := api.Address{URL: "http://a", State: api.Up, Circuit: "closed"}, api.Address{URL: "http://b", State: api.Down, Circuit: "open", Reason: "refused", Since: ago(time.Minute)}
	left := api.Address{URL: "http://c", State: api.Down, Circuit: "closed", Reason: "3 probes failed"}
	region := func(state string, endpoints ...api.Endpoint) api.Region {
		return api.Region{Name: "westus", State: state, Endpoints: endpoints}
	}
	endpoint := func(state string, addresses ...api.Address) api.Endpoint {
		return api.Endpoint{Namespace: "A.B", State: state, Addresses: addresses}
	}
	shedding, shed := endpoint(api.Up, up), endpoint(api.Up, up)
	distrusted := up
	shedding.Contact = "#oncall"
	shedding.Shed, shedding.LastShed, shed.Shed, shed.LastShed = 7, ago(time.Minute), 7, ago(time.Hour)
	trusted := up
	distrusted.Distrust, distrusted.LastDistrust, trusted.Distrust, trusted.LastDistrust = "tls_host", ago(time.Second), "untrusted", ago(time.Hour)
	ending, ended, lasting := up, up, up
	ending.CertificateEnds, ended.CertificateEnds, lasting.CertificateEnds = ago(-time.Hour), ago(time.Hour), ago(-1000*time.Hour)
	downDistrusted, leftDistrusted := down, left
	downDistrusted.Distrust, downDistrusted.LastDistrust, leftDistrusted.Distrust, leftDistrusted.LastDistrust = "tls_host", ago(time.Second), "tls_host", ago(time.Second)
	drain := &api.Drain{Reason: "rack move.", By: "ops", Since: time.Now(), Until: time.Now().Add(time.Hour)}
	drained, drainedAddress := region(api.Down, endpoint(api.Down, down, distrusted, ended)), down
	drained.Drain, drainedAddress.Drain = drain, drain
	for _, c := range []struct {
		region api.Region
		want   string
	}{
		{region(api.Up, endpoint(api.Up, up)), ""},
		{region(api.Unknown), ""},
		{region(api.Down, endpoint(api.Down, down), endpoint(api.Down, down)), "regionDown westus"},
		{region(api.Degraded, endpoint(api.Down, down), endpoint(api.Up, up)), "endpointDown westus"},
		{region(api.Degraded, endpoint(api.Degraded, down, up)), "circuitOpen http://b"},
		{region(api.Down, endpoint(api.Down, downDistrusted)), "regionDown westus"},
		{region(api.Degraded, endpoint(api.Degraded, leftDistrusted, up)), "untrusted http://c"},
		{region(api.Degraded, endpoint(api.Degraded, left, up), endpoint(api.Degraded, left)), "addressDown http://c"},
		{region(api.Up, shedding), "providerSheds westus"},
		{region(api.Up, shed), ""},
		{region(api.Up, endpoint(api.Up, distrusted)), "untrusted http://a"},
		{region(api.Up, endpoint(api.Up, trusted)), ""},
		{region(api.Up, endpoint(api.Up, ending)), "certificateEnds http://a"},
		{region(api.Up, endpoint(api.Up, ended)), "certificateEnded http://a"},
		{region(api.Up, endpoint(api.Up, lasting)), ""},
		{drained, "regionDrained westus"},
		{region(api.Degraded, endpoint(api.Degraded, drainedAddress, up)), "addressDrained http://b"},
	} {
		f := newFinding()
		f.regions([]api.Region{c.region})
		if got := f.codes(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.region, got, c.want)
		}
		if got := f.sorted(); len(got) > 0 && got[0].Code == api.ProviderSheds && got[0].Advice != "ask #oncall" {
			t.Errorf("%+v", got)
		}
	}
}

// What shares an address that is down has one cause, and is one problem of the widest reach. What is down for itself is one
// of its own.
func TestOneDeadProcessIsOneProblem(t *testing.T) {
	down := func(url string, age time.Duration) api.Address {
		return api.Address{URL: url, State: api.Down, Circuit: "open", Reason: "connection refused", Since: ago(age)}
	}
	up := api.Address{URL: "http://up", State: api.Up, Circuit: "closed"}
	endpoint := func(namespace, state string, addresses ...api.Address) api.Endpoint {
		return api.Endpoint{Namespace: namespace, State: state, Addresses: addresses}
	}
	asked := endpoint("C.D", api.Down, down("http://c", time.Minute))
	asked.Contact = "#oncall"
	f := newFinding()
	f.regions([]api.Region{
		{Name: "eastus", State: api.Down, Endpoints: []api.Endpoint{
			endpoint("A.B", api.Down, down("http://a", time.Hour)), endpoint("C.D", api.Down, down("http://a", time.Hour), down("http://c", time.Minute)),
		}},
		{Name: "westus", State: api.Degraded, Endpoints: []api.Endpoint{
			endpoint("A.B", api.Down, down("http://a", time.Hour)), endpoint("C.D", api.Degraded, down("http://c", time.Minute), up),
			endpoint("E.F", api.Degraded, down("http://e", time.Minute), up),
		}},
		{Name: "global", State: api.Down, Endpoints: []api.Endpoint{asked}},
		{Name: "northeurope", State: api.Degraded, Endpoints: []api.Endpoint{endpoint("G.H", api.Down, down("http://g", time.Minute)), endpoint("A.B", api.Up, up)}},
	})
	for region, cause := range map[string]string{"eastus": "eastus", "global": "eastus", "westus": "eastus", "northeurope": "northeurope", "southus": ""} {
		if got := f.causeIn([]string{"nowhere", region}); got != cause {
			t.Errorf("the cause in %s is %q, want %q", region, got, cause)
		}
	}
	f.add(api.Problem{Code: api.GroupDeleteWaiting, Subject: "g", Summary: "s", CausedBy: "eastus"})
	f.add(api.Problem{Code: api.CreationsHeld, Subject: "s", Summary: "s", CausedBy: "eastus"})
	f.add(api.Problem{Code: api.GroupDeleteWaiting, Subject: "h", Summary: "s", CausedBy: "northeurope"})
	f.add(api.Problem{Code: api.GroupDeleteWaiting, Subject: "i", Summary: "s", CausedBy: "a region beyond the bound"})
	if got, want := f.codes(), "regionDown eastus, creationsHeld s, groupDeleteWaiting g, endpointDown northeurope, groupDeleteWaiting h, circuitOpen http://e, groupDeleteWaiting i"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	all := f.sorted()
	want := api.Problem{
		Severity: api.Critical, Code: api.RegionDown, Subject: "eastus", Since: all[0].Since, Next: "portico regions",
		Summary: "No endpoint in eastus and global can be reached: all calls there are refused.",
		Detail:  "A.B in eastus, A.B in westus, C.D in eastus and 2 more of them: http://a (connection refused) and http://c (connection refused).",
		Advice:  "ask #oncall, or start it; if it is out for maintenance: portico regions drain eastus --reason REASON --until TIME",
	}
	if !reflect.DeepEqual(all[0], want) || time.Since(*all[0].Since) > time.Hour/2 {
		t.Errorf("%+v", all[0])
	}
	if got := all[5]; !strings.HasSuffix(got.Advice, "drain http://e --reason REASON --until TIME") || !strings.HasPrefix(got.Advice, "start it; ") || got.Summary != "Connections to http://e fail." || got.Detail != "E.F in westus: http://e (connection refused)." {
		t.Errorf("%+v", got)
	}
}

// metric is a gauge with an optional label.
func metric(value float64, label ...string) []*dto.Metric {
	m := &dto.Metric{Gauge: &dto.Gauge{Value: &value}}
	if len(label) == 2 {
		m.Label = []*dto.LabelPair{{Name: &label[0], Value: &label[1]}}
	}
	return []*dto.Metric{m}
}

func TestProblemsOfTheProcess(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) float64 { return float64(now.Add(d).Unix()) }
	for want, figures := range map[string]figures{
		"":                                  {reloadedMetric: metric(1), reloadTimeMetric: metric(at(0)), certificatesMetric: metric(at(1000*time.Hour), "use", "listener"), auditMetric: metric(0)},
		"reloadFailed":                      {reloadedMetric: metric(0), reloadTimeMetric: metric(at(0))},
		"auditLinesLost, accessLinesLost":   {accessMetric: metric(3), auditMetric: metric(1)},
		"issuerUnavailable https://a/":      {issuerMetric: metric(at(-time.Minute), "issuer", "https://a/")},
		"removedCredentials":                {removedMetric: metric(2)},
		"certificateEnds Contoso.Compute":   {certificatesMetric: metric(at(time.Hour), "use", "Contoso.Compute")},
		"certificateEnded listener":         {certificatesMetric: metric(at(-time.Hour), "use", "listener")},
		"budgetUsedUp lists.totalMemory":    {"portico_fanout_held_bytes": metric(95), "portico_fanout_limit_bytes": metric(100)},
		"budgetUsedUp limits.contentMemory": {"portico_content_held_bytes": metric(95), "portico_content_limit_bytes": metric(100), "portico_batch_held_bytes": metric(5), "portico_batch_limit_bytes": metric(100)},
	} {
		f := newFinding()
		f.process(figures, now)
		if got := f.codes(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The figures that are looked at are on the page of metrics, which shows those that there
// are.
func TestMetricsThatAreLookedAtExist(t *testing.T) {
	page, err := os.ReadFile("../../../deploy/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{reloadedMetric, reloadTimeMetric, removedMetric, certificatesMetric, auditMetric, accessMetric, issuerMetric}
	for _, b := range budgets() {
		names = append(names, b[0]+"_held_bytes", b[0]+"_limit_bytes")
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// The worst comes first, and of one kind the oldest; more than so many of a kind are
// counted.
func TestProblemsAreSortedAndBounded(t *testing.T) {
	f := newFinding()
	for i := range 3 * mostOfAKind {
		f.add(api.Problem{Code: api.GroupDeleteSlow, Subject: fmt.Sprint(i), Summary: "s", Since: ago(time.Duration(i) * time.Hour)})
	}
	f.add(api.Problem{Code: api.ReloadFailed, Summary: "s"})
	f.add(api.Problem{Code: api.JobsOverdue, Subject: "later", Summary: "s"})
	f.add(api.Problem{Code: api.JobsOverdue, Subject: "first", Summary: "s", Since: ago(time.Hour)})
	f.add(api.Problem{Code: api.StoreDown, Summary: "s"})
	got := f.sorted()
	if len(got) != mostOfAKind+5 || got[0].Code != api.StoreDown || got[1].Subject != "first" || got[2].Subject != "later" || got[3].Subject != fmt.Sprint(3*mostOfAKind-1) || got[len(got)-1].Code != api.ReloadFailed {
		t.Errorf("%+v", got)
	}
	if more := got[3+mostOfAKind]; more.Code != api.GroupDeleteSlow || more.Count != 2*mostOfAKind || more.Severity != api.Warning {
		t.Errorf("%+v", more)
	}
	critical := slices.IndexFunc(got, func(p api.Problem) bool { return p.Severity == api.Warning })
	if critical != 3 || slices.ContainsFunc(got[critical:], func(p api.Problem) bool { return p.Severity == api.Critical }) {
		t.Errorf("%+v", got)
	}
}
