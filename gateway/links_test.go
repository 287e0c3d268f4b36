package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"portico/gateway/exchange"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
)

// publicForm lets no URL pass that clients could be led away by.
func TestPublicForm(t *testing.T) {
	s := newSite(t, setup{})
	endpoint, err := url.Parse("http://127.0.0.1:7/")
	if err != nil {
		t.Fatal(err)
	}
	p := proxied{}
	p.Endpoint = &regions.Endpoint{URLs: []*url.URL{endpoint}}
	for link, want := range map[string]string{
		"http://portico.example/a?b=c":    "http://portico.example/a?b=c",
		"HTTP://PORTICO.example:80/a":     "http://portico.example/a",
		"http://127.0.0.1:7/a%2Fb?c":      "http://portico.example/a%2Fb?c",
		"/a?b":                            "http://portico.example/a?b",
		"http://127.0.0.1:7/a#fragment":   "http://portico.example/a",
		"http://127.0.0.1:8/a":            "",
		"https://portico.example/a":       "",
		"http://evil.example/a":           "",
		"//evil.example/a":                "",
		"http://user@portico.example/a":   "",
		"http:a":                          "",
		"a":                               "",
		"":                                "",
		"http://portico.example":          "",
		"http://portico.example.evil/a":   "",
		"http://portico.example\\@evil/a": "",
		"http://%zz/":                     "",
	} {
		got, own := s.gateway.publicForm(link, p)
		if own != (want != "") || own && got.String() != want {
			t.Errorf("%q became %v %v, want %q", link, got, own, want)
		}
	}
}

// guarded runs guardLinks on the headers of an answer.
func (s *site) guarded(status int, h http.Header) http.Header {
	s.t.Helper()
	q, fault := routing.Classify(s.config.Map, "PUT", machinePath("g", "m"), api[1:])
	if fault != nil {
		s.t.Fatal(fault)
	}
	p := proxied{}
	p.Region, p.Endpoint = "westus", q.Type.Endpoint("westus")
	s.gateway.guardLinks(context.Background(), h, &exchange.Exchange{Request: q}, p, status)
	return h
}

// standInURL is what polling URLs of Portico's own look like.
func standInURL(kind string) string {
	return "http://portico.example" + inSubscription + "/providers/Contoso.Compute/locations/[a-z]+/" + kind + "/[0-9a-f-]{36}\\?api-version=2024-01-01"
}

func TestGuardLinks(t *testing.T) {
	s := newSite(t, setup{})
	const (
		path    = inSubscription + "/providers/Contoso.Compute/locations/westus/operationResults/x" + api
		foreign = "http://evil.example" + path
		public  = "http://portico.example" + path
	)
	at := s.at("westus").server.URL
	result, status := standInURL("operationresults"), standInURL("operationStatuses")
	for _, c := range []struct {
		name, sent, want string
		status           int
	}{
		{"Location", at + path, public, 202}, {"Azure-Asyncoperation", at + path, public, 200}, {"Operation-Location", at + path, public, 202},
		{"Location", foreign, result, 202}, {"Azure-Asyncoperation", foreign, status, 201}, {"Operation-Location", foreign, status, 202},
		// What is the provider's own, but no client would get to.
		{"Location", at + "/operations/1", result, 202}, {"Location", at + machines + api, result, 202}, {"Location", at + machinePath("g", "other") + api, result, 202},
		{"Location", at + inSubscription + "/providers/Contoso.Insight/locations/westus/jobs/1" + api, result, 202},
		{"Location", at + "/subscriptions/" + tenant + "/providers/Contoso.Compute/operationResults/x", result, 202},
		{"Location", at + inSubscription + "/providers/Contoso.Unknown/operationResults/x", result, 202},
		{"Location", at, result, 202}, {"Location", "::", result, 202},
		// The resource itself needs no other name.
		{"Location", at + machinePath("g", "M") + api, "http://portico.example" + machinePath("g", "M") + api, 202},
		{"Location", foreign, "", 201}, {"Location", at + "/a", "http://portico.example/a", 201}, {"Azure-Asyncoperation", foreign, "", 409},
		// deliver refuses this redirect before.
		{"Location", foreign, "", 307}, {"Location", at + path, public, 307}, {"Azure-Asyncoperation", foreign, "", 307},
	} {
		got := strings.Join(s.guarded(c.status, http.Header{c.name: {c.sent, foreign}})[c.name], " ")
		if pattern := regexp.MustCompile("^(" + c.want + ")$"); got != c.want && !(c.want != "" && pattern.MatchString(got)) {
			t.Errorf("%d %s %s became %q, want %q", c.status, c.name, c.sent, got, c.want)
		}
	}
	for _, status := range []int{200, 201, 202, 429, 503} {
		got := s.guarded(status, http.Header{"Location": {at + path}, "Retry-After-Ms": {"1"}, "X-Ms-Retry-After-Ms": {"1"}})
		if got.Get("Retry-After-Ms") != "" || got.Get("X-Ms-Retry-After-Ms") != "" || got.Get("Retry-After") != "" {
			t.Errorf("%d: %v", status, got)
		}
	}
	for status, want := range map[int]string{200: "10", 201: "10", 202: "10", 429: "1", 503: "1", 307: "1"} {
		if got := s.guarded(status, http.Header{"Retry-After": {"1"}}).Get("Retry-After"); got != want {
			t.Errorf("%d: Retry-After %s, want %s", status, got, want)
		}
	}
}

// What is remembered of a polling URL, and of which there is nothing to.
func TestRemembered(t *testing.T) {
	s := newSite(t, setup{})
	const poll = inSubscription + "/providers/Contoso.Compute/operationResults/x?t=1"
	itself, plain := machinePath("g", "m")+api, machinePath("g", "m")+"/runCommands/r"+api
	s.guarded(201, http.Header{"Location": {itself}})
	s.guarded(202, http.Header{"Location": {itself}})
	s.guarded(201, http.Header{"Location": {plain}}) // where a resource is
	for _, link := range []string{itself, plain} {
		if _, err := s.recorded(link); !errors.Is(err, inventory.ErrNotFound) {
			t.Errorf("%s: %v", link, err)
		}
	}
	s.guarded(202, http.Header{"Location": {poll}})
	if record, err := s.recorded(poll); err != nil || record.Method != "PUT" || record.Namespace != "Contoso.Compute" || record.Type != "virtualMachines" || record.APIVersion != "2024-01-01" ||
		record.Until.Sub(s.clock.now()) < 47*hour {
		t.Errorf("%+v %v", record, err)
	}
	for _, link := range []string{
		"/subscriptions/" + foreign + "/providers/Contoso.Compute/operationResults/y", "/providers/Contoso.Compute/operationResults/y",
		"/subscriptions/" + subscription + "/%2e%2e/y", poll + "&api-version=1&api-version=2",
	} {
		s.guarded(202, http.Header{"Location": {"http://portico.example" + link}})
		if _, err := s.recorded(link); err == nil {
			t.Errorf("%s was recorded", link)
		}
	}
}
