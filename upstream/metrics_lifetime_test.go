package upstream

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// shown are the samples that the page has of an address, or of a region, by
// metric and last label's value; -1 where a histogram stands.
func shown(t *testing.T, registry *prometheus.Registry, label, value string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			of, name := false, f.GetName()
			for _, l := range m.GetLabel() {
				of = of || l.GetName() == label && l.GetValue() == value
				if !slices.Contains([]string{"region", "endpoint"}, l.GetName()) {
					name += " " + l.GetValue()
				}
			}
			switch {
			case !of:
			case m.GetHistogram() != nil:
				all[name] = -1
			default:
				all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return all
}

// Errors and refusals are there from the start, with none: that the first of them
// happened shows only then.
func TestErrorsAreShownBeforeTheFirst(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := newClient(t, Options{Metrics: registry})
	u := refusing(t)
	c.UseMap(mapOf(u), Health{})
	of := shown(t, registry, "endpoint", u.Host)
	for _, kind := range errorKinds() {
		if v, ok := of["portico_upstream_errors_total "+kind]; !ok || v != 0 {
			t.Errorf("%s: %v, %v", kind, v, ok)
		}
	}
	if v, ok := shown(t, registry, "region", "westus")["portico_region_refusals_total"]; !ok || v != 0 {
		t.Errorf("refusals: %v, %v", v, ok)
	}
}

// Nothing is shown any more of an address that has left the map, and calls of it
// that end later bring nothing back. One that stays is shown on.
func TestAddressThatGoesIsShownNoMore(t *testing.T) {
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	goes := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-leave
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(goes.Close)
	stays := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(stays.Close)
	registry := prometheus.NewRegistry()
	c := newClient(t, Options{Metrics: registry, Identities: trusting(goes)})
	going, staying := at(t, goes), at(t, stays)
	c.UseMap(mapOf(going), Health{})
	mustDo(t, c, Call{Endpoint: endpointOf(going), Method: http.MethodGet, Path: "/"})
	mustDo(t, c, Call{Endpoint: endpointOf(staying), Method: http.MethodGet, Path: "/"})
	for _, name := range []string{"portico_upstream_certificate_expiry_timestamp_seconds", "portico_upstream_requests_total 200 GET", "portico_upstream_seconds"} {
		if _, ok := shown(t, registry, "endpoint", going.Host)[name]; !ok {
			t.Errorf("before: no %s", name)
		}
	}

	ended := make(chan error)
	go func() {
		_, _, err := do(c, Call{Endpoint: endpointOf(going), Method: http.MethodPut, Path: "/slow"})
		ended <- err
	}()
	<-entered
	c.UseMap(mapOf(staying), Health{})
	close(leave)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if left := shown(t, registry, "endpoint", going.Host); len(left) != 0 {
		t.Errorf("of the address that has gone: %v", left)
	}
	if v := shown(t, registry, "endpoint", staying.Host)["portico_upstream_requests_total 200 GET"]; v != 1 {
		t.Errorf("of the one that stays: %v", v)
	}
}

// What a certificate is renewed to shows though no call makes a connection.
func TestProbesShowCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	registry := prometheus.NewRegistry()
	probing := Health{Probing: Probing{Interval: 10 * time.Millisecond, Timeout: 5 * time.Second}}
	c := newClient(t, Options{Metrics: registry, Identities: trusting(server), Health: probing})
	u := at(t, server)
	c.UseMap(mapOf(u), probing)
	running(t, c)
	within(t, "a probe that shows the certificate", func() bool {
		return shown(t, registry, "endpoint", u.Host)["portico_upstream_certificate_expiry_timestamp_seconds"] == float64(server.Certificate().NotAfter.Unix())
	})
}

// Two addresses of one label, by different schemes: it is shown as long as one of
// them stays.
func TestAddressOfTwoSchemes(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := newClient(t, Options{Metrics: registry})
	plain := refusing(t)
	secured := &url.URL{Scheme: "https", Host: plain.Host}
	c.UseMap(mapOf(plain, secured), Health{})
	c.UseMap(mapOf(plain), Health{})
	if _, ok := shown(t, registry, "endpoint", plain.Host)["portico_upstream_in_flight"]; !ok {
		t.Error("what stays is not shown")
	}
	c.UseMap(mapOf(refusing(t)), Health{})
	if left := shown(t, registry, "endpoint", plain.Host); len(left) != 0 {
		t.Errorf("it is shown on: %v", left)
	}
}
