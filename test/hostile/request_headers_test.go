package hostile

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// forged marks the values of headers that must not reach a provider.
const forged = "forged-4711"

// unlisted are headers with which a client could act as somebody else or make a
// provider mistake a request, and some unknown ones.
var unlisted = []string{
	"x-ms-authorization-auxiliary", "x-ms-authorization-anything", "x-ms-token-aad-id-token", "x-ms-token-anything",
	"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Host", "X-Forwarded", "X-Forwarded-Anything", "X-Original-Host",
	"Remote-User", "X-Auth-Request-User", "X-Auth-Request-Access-Token", "X-ARR-ClientCert", "Client-Cert", "Client-Cert-Chain",
	"X-SSL-Client-Cert", "X-SSL-Client-S-DN", "X-Envoy-External-Address", "CF-Connecting-IP", "Fastly-Client-IP", "Impersonate-User", "Impersonate-Group",
	"Cookie", "Proxy-Authorization", "Origin", "Via", "Link", "Sec-Fetch-Mode", "X-Anything", "Anything", "If_Match", "Content_Type", "x-ms-odd~name", "x_ms_client_tenant_id",
}

// listed are headers that providers understand.
var listed = map[string]string{
	"Accept": "application/json", "Accept-Language": "de-CH, en;q=0.5", "Cache-Control": "no-cache", "Pragma": "no-cache",
	"Content-Language": "en", "If-Match": `"a"`, "If-None-Match": `"b"`, "If-Modified-Since": "Thu, 01 Jan 2026 00:00:00 GMT",
	"If-Unmodified-Since": "Thu, 01 Jan 2026 00:00:00 GMT", "User-Agent": "hostile/1.0", "Prefer": "return=minimal", "Date": "Thu, 01 Jan 2026 00:00:00 GMT",
	"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate": "a=b",
	"Idempotency-Key": "1", "Repeatability-Request-Id": "2", "X-Ms-Client-Request-Id": "3", "X-Ms-Version": "4", "X-Evil-Mark": "5",
}

const marked = "    headers: {request: [X-Evil-Mark]}\n"

// wantNoForgedHeaders checks that no forged value reached the provider.
func wantNoForgedHeaders(t *testing.T, what string, x harness.Call) {
	t.Helper()
	for name, values := range x.Header {
		if strings.Contains(fmt.Sprint(values), forged) {
			t.Errorf("%s: %s reached the provider", what, name)
		}
	}
}

// wantPassedHeaders checks that the listed headers reached the provider unchanged.
func wantPassedHeaders(t *testing.T, what string, x harness.Call) {
	t.Helper()
	wantNoForgedHeaders(t, what, x)
	for name, want := range listed {
		if got := x.Header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
}

func TestRequestHeadersPassByList(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{Evil: marked})
	var pairs []string
	for _, name := range unlisted {
		pairs = append(pairs, name, forged)
	}
	for name, value := range listed {
		pairs = append(pairs, name, value)
	}
	for _, c := range []struct{ method, path, body string }{
		{"GET", thing, ""}, {"HEAD", thing + "/notes/n", ""}, {"GET", thing + "/notes/n", ""}, {"POST", thing + "/start", "{}"},
		{"PATCH", thing, `{"tags":{"a":"b"}}`}, {"PUT", thing, located("westus")}, {"DELETE", thing, ""},
	} {
		w.provider.Forget()
		w.as(t, alice, c.method, c.path+api, c.body, pairs...)
		seen := w.provider.Calls()
		if len(seen) == 0 {
			t.Errorf("%s %s: nothing reached the provider", c.method, c.path)
		}
		for _, x := range seen[:min(len(seen), 1)] { // the gateway's own questions follow
			wantPassedHeaders(t, c.method+" "+c.path, x)
		}
	}
	w.provider.Forget()
	w.as(t, alice, "GET", w.GroupPath("rg")+"/providers/Evil.Test/things"+api, "", pairs...)
	for _, x := range w.provider.Calls() {
		wantNoForgedHeaders(t, "list", x)
	}
}

func TestRequestHeadersInBatchesPassByList(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{Evil: marked})
	headers := map[string]string{}
	for _, name := range unlisted {
		headers[name] = forged
	}
	maps.Copy(headers, listed)
	w.provider.Forget()
	w.inBatch(t, "GET", thing+api, headers)
	seen := w.provider.Calls()
	if len(seen) == 0 {
		t.Fatal("nothing reached the provider")
	}
	wantPassedHeaders(t, "in a batch", seen[0])
}

// A header that the gateway has evaluated cannot be removed from the request
// afterwards: the write would reach the provider without its condition.
func TestConnectionRemovesNoCheckedHeader(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.provider.Forget()
	for _, name := range []string{"If-Match", "if-none-match", "Content-Type", "Authorization", "Content-Length", "Host", "x-ms-client-request-id", "x-ms-version", "Accept"} {
		w.as(t, alice, http.MethodPut, thing+api, located("westus"), "If-Match", `"stale"`, "x-ms-version", "1", "Connection", "keep-alive, "+name).
			WantError(t, 400, "InvalidRequestHeader")
	}
	w.as(t, alice, http.MethodPut, w.GroupPath("rg")+"?api-version=2021-04-01", located("westus"), "If-Match", `"stale"`, "Connection", "If-Match").
		WantError(t, 400, "InvalidRequestHeader")
	if got := w.inBatch(t, "DELETE", thing+api, map[string]string{"If-Match": `"stale"`, "Connection": "close, If-Match"}); got.HTTPStatusCode != 400 {
		t.Errorf("in a batch: %d %s", got.HTTPStatusCode, got.Content)
	}
	w.wantNothingSent(t)
	w.as(t, alice, http.MethodGet, thing+api, "", "Connection", "keep-alive, TE, X-Hop", "TE", "trailers", "X-Hop", "a").Want(t, 200)
}

// A provider that receives more than its server accepts would break the connection,
// which counts against its address.
func TestRequestHeadersTowardsProvidersAreBounded(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.provider.Forget()
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("x-ms-many-%d", i), "a")
	}
	long := []string{"x-ms-long", strings.Repeat("a", 12<<10)}
	for what, pairs := range map[string][]string{"many": many, "long": long} {
		for _, c := range []struct{ method, path, body string }{
			{"GET", thing, ""}, {"PUT", thing, located("westus")}, {"POST", thing + "/start", ""}, {"GET", w.GroupPath("rg") + "/providers/Evil.Test/things", ""},
		} {
			got := w.as(t, alice, c.method, c.path+api, c.body, pairs...)
			if got.Status != 431 || got.ErrorCode() != "InvalidRequestHeader" {
				t.Errorf("%s: %s %s: %d %s", what, c.method, c.path, got.Status, got.Body)
			}
		}
	}
	if seen := w.provider.Calls(); len(seen) > 0 {
		t.Errorf("%d requests reached the provider", len(seen))
	}
	// Headers that do not pass do not count.
	w.as(t, alice, http.MethodGet, thing+api, "", "X-Filler", strings.Repeat("a", 12<<10)).Want(t, 200)
}

// The gateway's own calls carry only its own headers: the client of a deletion cannot
// add any.
func TestOwnCallsCarryNoClientHeaders(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{Evil: marked})
	w.provider.Forget()
	var pairs []string
	for _, name := range unlisted {
		pairs = append(pairs, name, forged)
	}
	w.as(t, alice, http.MethodDelete, w.GroupPath("rg")+"?api-version=2021-04-01", "", append(pairs, "X-Evil-Mark", forged, "x-ms-version", forged, "Prefer", forged)...).Want(t, 202)
	eventually(t, "the group's resource is deleted", func() bool { return !w.provider.Holds("", thing) })
	for _, x := range w.provider.Calls() {
		wantNoForgedHeaders(t, x.Method+" "+x.Target, x)
	}
}

// Not even the region map can list reserved names.
func TestReservedHeadersCannotBeConfigured(t *testing.T) {
	t.Parallel()
	for _, headers := range []string{
		"{request: [x-ms-authorization-auxiliary]}", "{request: [Authorization]}", "{request: [Connection]}", "{request: [Content-Length]}", "{request: [Remote-User]}", "{request: [x_custom]}",
		"{response: [Set-Cookie]}", "{response: [Transfer-Encoding]}", "{response: [Access-Control-Allow-Origin]}", "{response: [x-ms-routing-request-id]}", "{response: [WWW-Authenticate]}",
	} {
		said := harness.RefusedPortico(t, harness.Config{
			Endpoints: map[string]string{"global": "https://a.example", "westus": "https://a.example", "eastus": "https://a.example", "northeurope": "https://a.example"},
			Providers: "  - namespace: Evil.Test\n    endpoints: {global: [\"https://a.example\"]}\n    headers: " + headers,
		})
		if !strings.Contains(said, "headers.re") || !strings.Contains(said, ".yaml:") {
			t.Errorf("%s: %s", headers, said)
		}
	}
}
