package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

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
	p.Endpoint = q.Type.Endpoint("westus")
	s.gateway.guardLinks(context.Background(), h, &exchange{request: q}, p, status)
	return h
}

func TestGuardLinks(t *testing.T) {
	s := newSite(t, setup{})
	const foreign, public = "http://evil.example/a", "http://portico.example/a"
	own := s.at("westus").server.URL + "/a"
	for _, c := range []struct {
		name, sent, want string
		status           int
	}{
		{"Location", foreign, "", 202}, {"Azure-Asyncoperation", foreign, "", 201}, {"Operation-Location", foreign, "", 202},
		{"Location", own, public, 202}, {"Azure-Asyncoperation", own, public, 200}, {"Operation-Location", own, public, 202},
		// A redirect is not followed blindly, so its target may lie elsewhere.
		{"Location", foreign, foreign, 307}, {"Location", own, public, 307}, {"Azure-Asyncoperation", foreign, "", 307},
	} {
		if got := s.guarded(c.status, http.Header{c.name: {c.sent, foreign}})[c.name]; c.want == "" && got != nil || c.want != "" && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%d %s %s became %v, want %q", c.status, c.name, c.sent, got, c.want)
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
	s.guarded(201, http.Header{"Location": {poll}}) // a resource's own
	if _, err := s.recorded(poll); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("%v", err)
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
		s.guarded(202, http.Header{"Location": {link}})
		if _, err := s.recorded(link); err == nil {
			t.Errorf("%s was recorded", link)
		}
	}
}
