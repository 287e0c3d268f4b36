package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"portico/gateway/chain"
	"portico/gateway/exchange"
)

func TestClosedStore(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	must(t, s.store.Close())
	s.at("westus").requests()
	for _, c := range [][3]string{
		{"GET", "/subscriptions" + own, ""}, {"GET", "/tenants" + own, ""}, {"GET", inSubscription + own, ""},
		{"GET", groupPath("g") + own, ""}, {"PUT", groupPath("g") + own, westus}, {"DELETE", groupPath("g") + own, ""},
		{"GET", inSubscription + "/resources" + own, ""}, {"GET", inSubscription + "/providers" + own, ""},
		{"GET", m + api, ""}, {"PUT", m + api, westus}, {"PATCH", m + api, `{}`}, {"DELETE", m + api, ""}, {"POST", m + "/start" + api, ""}, {"GET", machines + api, ""},
	} {
		got := s.want(503, "ServerTimeout", c[0], c[1], c[2])
		if got.header.Get("Retry-After") != "5" || got.header.Get("X-Ms-Failure-Cause") != "gateway" || strings.Contains(got.text, "inventory") {
			t.Errorf("%s %s: %v %s", c[0], c[1], got.header, got.text)
		}
		concerned := ""
		if strings.HasPrefix(c[1], inSubscription) {
			concerned = subscription
		}
		got.says(t, "The request timed out. Diagnostic information: timestamp '"+aMoment+"', subscription id '"+concerned+"', tracking id '"+got.header.Get("X-Ms-Request-Id")+
			"', request correlation id '"+got.header.Get("X-Ms-Correlation-Request-Id")+"'.")
	}
	s.ok(503, "HEAD", m+api, "")
	if requests := s.at("westus").requests(); len(requests) != 0 {
		t.Errorf("calls without the store: %v", requests)
	}
	s.ok(200, "GET", "/providers"+own, "")
}

// When the store fails between the call and the answer, the answer still goes
// out: what it said is not lost to the client.
func TestStoreThatFailsMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name, method, body string
		status             int
		header             []string
		note               string
	}{
		{"create", "PUT", westus, 200, nil, "a write's outcome was not recorded"},
		{"update", "PATCH", `{"tags":{}}`, 200, nil, "a write's outcome was not recorded"},
		{"delete", "DELETE", "", 202, []string{"x-contoso-async", "location"}, "a write's outcome was not recorded"},
		{"accepted update", "PATCH", `{"tags":{}}`, 202, []string{"x-contoso-async", "location"}, "a write's outcome was not recorded"},
		{"read", "GET", "", 200, nil, "the result of a read was not recorded"},
		{"read of what is gone", "GET", "", 404, nil, "a client got 404 for a resource"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, setup{})
			first := s
			if c.method == "GET" {
				first = replica(t, s) // so that no memory has to be confirmed by the store
			}
			first.group("g")
			m := first.machine("g", "m", "westus")
			if c.method == "GET" {
				fault := "reset-before"
				if c.status == 404 {
					fault = "reset-after"
				}
				first.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", fault)
			}
			s.at("westus").requests()
			got := make(chan seen, 1)
			go func() {
				answer, err := s.server.Client().Do(request(t, s.server, c.method, m+api, c.body,
					append([]string{"Host", "portico.example", "x-contoso-fault", "delay=100ms"}, c.header...)...))
				if err != nil {
					got <- seen{text: err.Error()}
					return
				}
				defer answer.Body.Close()
				_, err = io.Copy(io.Discard, answer.Body)
				got <- seen{status: answer.StatusCode, text: fmt.Sprint(err)}
			}()
			s.within("the call", func() bool { return len(s.at("westus").peek()) > 0 })
			must(t, s.store.Close())
			if answer := <-got; answer.status != c.status {
				t.Errorf("%d %s", answer.status, answer.text)
			}
			if !strings.Contains(s.log.String(), c.note) {
				t.Errorf("the log does not tell %q", c.note)
			}
		})
	}
}

// A write that could not be sent in time is not sent at all.
func TestWriteThatCameTooLate(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.config.Index.SendWithin = time.Nanosecond
	m := machinePath("g", "m")
	s.want(503, "ServerTimeout", "PUT", m+api, westus)
	if requests := s.at("westus").requests(); len(requests) != 0 {
		t.Errorf("%v", requests)
	}
	if _, there := s.row(m); there {
		t.Error("what was never sent has a row")
	}
	s.config.Index.SendWithin = time.Minute
	s.machine("g", "m", "westus")
	s.config.Index.SendWithin = time.Nanosecond
	s.at("westus").requests()
	s.want(503, "ServerTimeout", "PATCH", m+api, `{"tags":{}}`)
	if requests := s.at("westus").requests(); len(requests) != 0 {
		t.Errorf("%v", requests)
	}
	if row, there := s.row(m); !there || !firm(row) || s.openWrites("g") != 0 {
		t.Errorf("%v %+v", there, row)
	}
}

// An answer that was begun cannot be taken back: it must end broken.
func TestAbortedAnswerStaysAborted(t *testing.T) {
	s := newSite(t, setup{})
	handler := chain.Of(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), exchange.Begin(s.gateway.Exchanges), s.gateway.Recover)
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("the abort became %v", err)
		}
	}()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	t.Error("the abort was swallowed")
}

func TestStrictTransportSecurity(t *testing.T) {
	s := newSite(t, setup{public: "https://portico.example"})
	got := s.ok(200, "GET", inSubscription+own, "")
	if got.header.Get("Strict-Transport-Security") != "max-age=31536000; includeSubDomains" {
		t.Errorf("%v", got.header)
	}
}
