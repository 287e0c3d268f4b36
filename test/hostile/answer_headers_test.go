package hostile

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"portico/test/harness"
)

// unlistedAnswers are headers with which a provider could act on the gateway's origin,
// on servers before it, or as the gateway.
var unlistedAnswers = []string{
	"Set-Cookie", "Set-Cookie2", "Clear-Site-Data", "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "X-Accel-Redirect", "X-Accel-Buffering", "X-Sendfile",
	"Refresh", "Link", "WWW-Authenticate", "Proxy-Authenticate", "Authentication-Info", "Content-Location", "Content-Security-Policy", "Service-Worker-Allowed", "SourceMap",
	"Server", "Server-Timing", "Via", "X-Powered-By", "NEL", "Report-To", "Alt-Svc", "X-Anything", "Anything", "X_Odd", "x-ms-portico-completed", "x-ms-original-request-ids",
	"x-ms-routing-request-id", "x-ms-authorization-auxiliary", "x-ms-token-anything", "x-ms-client-principal-name", "x-ms-client-request-id", "retry-after-ms",
	"x-ms-ratelimit-remaining-subscription-reads", "x-ms-ratelimit-remaining-subscription-global-writes", "x-ms-ratelimit-remaining-tenant-deletes",
	"x-ms-ratelimit-remaining-subscription-resource-requests",
}

var listedAnswers = map[string]string{
	"Etag": `"a"`, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Content-Language": "en", "Content-Disposition": "inline", "Accept-Ranges": "bytes", "Allow": "GET",
	"Vary": "Accept", "Warning": `299 - "a"`, "Preference-Applied": "return=minimal", "X-Ms-Request-Id": "provider's", "X-Ms-Version": "1",
	"X-Ms-Ratelimit-Remaining-Resource": "Evil.Test/a;1", "X-Evil-Mark": "2",
}

const markedAnswers = "    headers: {response: [X-Evil-Mark]}\n"

// hostileAnswer answers with a status and every header above.
func hostileAnswer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range unlistedAnswers {
			w.Header()[http.CanonicalHeaderKey(name)] = []string{forged}
		}
		for name, value := range listedAnswers {
			w.Header()[name] = []string{value}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = fmt.Fprint(w, body)
		}
	}
}

func TestAnswerHeadersPassByList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Evil: markedAnswers})
	w.group(t, "rg")
	const failed = `{"error":{"code":"Odd","message":"odd"}}`
	for i, c := range []struct {
		method, below string
		status        int
		body          string
	}{
		{"GET", "", 200, `{"properties":{}}`}, {"GET", "", 404, failed}, {"GET", "", 409, failed}, {"GET", "", 401, failed}, {"GET", "", 429, failed}, {"HEAD", "/notes/n", 403, failed},
		{"PUT", "", 200, `{"location":"westus"}`}, {"PUT", "", 401, failed}, {"PATCH", "", 200, `{"location":"westus"}`}, {"DELETE", "", 204, ""}, {"DELETE", "", 202, ""},
		{"POST", "/start", 200, `{}`}, {"POST", "/start", 202, ``}, {"POST", "/start", 500, failed}, {"GET", "/notes", 200, `{"value":[]}`}, {"GET", "/notes/n", 200, `{}`},
	} {
		thing := w.thing("rg", fmt.Sprintf("thing%d", i))
		w.put(t, thing)
		w.provider.On(c.method, thing+c.below, hostileAnswer(c.status, c.body))
		if c.method == "HEAD" {
			w.provider.On("GET", thing+c.below, hostileAnswer(c.status, c.body))
		}
		body := ""
		if c.method == "PUT" || c.method == "PATCH" {
			body = located("westus")
		}
		got := w.as(t, alice, c.method, thing+c.below+api, body)
		what := fmt.Sprintf("%s %s %d", c.method, c.below, c.status)
		if got.Status != c.status {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
		wantCleanAnswer(t, what, got)
		for name, want := range listedAnswers {
			values := got.Header[name]
			if name == "Vary" { // Portico's own is there too
				values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "Accept-Encoding" })
			}
			if len(values) != 1 || values[0] != want {
				t.Errorf("%s: %s is %q, want %q", what, name, values, want)
			}
		}
	}

	// Answers that are merged from several, or that are embedded in another.
	thing := w.thing("rg", "last")
	w.put(t, thing)
	w.provider.On("GET", "/providers/Evil.Test/things?", hostileAnswer(200, `{"value":[]}`))
	wantCleanAnswer(t, "merged list", w.as(t, alice, "GET", w.GroupPath("rg")+"/providers/Evil.Test/things"+api, "").Want(t, 200))
	w.provider.On("", thing, hostileAnswer(409, failed))
	wantCleanAnswer(t, "tags", w.as(t, alice, "GET", thing+"/providers/Microsoft.Resources/tags/default?api-version=2021-04-01", ""))
	answer := w.inBatch(t, "GET", thing+api, nil)
	if answer.HTTPStatusCode != 409 || strings.Contains(fmt.Sprint(answer.Headers), forged) || answer.Headers["x-ms-version"] != "1" {
		t.Errorf("in a batch: %d %v", answer.HTTPStatusCode, answer.Headers)
	}
}

// A provider answers polls too, whether by its own URL or by its replacement.
func TestAnswerHeadersOfPollsPassByList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Evil: markedAnswers})
	w.group(t, "rg")
	const operation = "/providers/Evil.Test/locations/westus/operationStatuses/one"
	for what, link := range map[string]string{"own": w.SubscriptionPath() + operation + api, "foreign": "https://evil.example" + operation + api, "none": ""} {
		thing := w.thing("rg", what)
		w.put(t, thing)
		w.provider.On("DELETE", thing, func(w http.ResponseWriter, _ *http.Request) {
			if link != "" {
				w.Header().Set("Azure-AsyncOperation", link)
			}
			w.WriteHeader(http.StatusAccepted)
		})
		w.provider.On("GET", "operationStatuses/one", hostileAnswer(200, `{"status":"InProgress"}`))
		poll := w.as(t, alice, "DELETE", thing+api, "").Want(t, 202).Header.Get("Azure-AsyncOperation")
		if !strings.HasPrefix(poll, w.Portico.URL) {
			t.Fatalf("%s: poll at %q", what, poll)
		}
		poll = strings.TrimPrefix(poll, w.Portico.URL)
		w.provider.On("GET", thing, hostileAnswer(200, `{"properties":{}}`))
		wantCleanAnswer(t, "poll of "+what, w.as(t, alice, "GET", poll, "").Want(t, 200))
		away := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://evil.example/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
		w.provider.On("GET", "operationStatuses/one", away)
		w.provider.On("GET", thing, away)
		if got := w.as(t, alice, "GET", poll, ""); got.Status != 502 || got.ErrorCode() != "InvalidProviderResponse" {
			t.Errorf("poll of %s that leads away: %d %v %s", what, got.Status, got.Header, got.Body)
		}
	}
}

func wantCleanAnswer(t *testing.T, what string, got harness.Answer) {
	t.Helper()
	for name, values := range got.Header {
		if strings.Contains(fmt.Sprint(values), forged) {
			t.Errorf("%s: %s reached the client", what, name)
		}
	}
}

// Clients refuse answers with too many headers: Python's takes a hundred, that of Node
// 16 KiB.
func TestAnswerHeadersAreBounded(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	for _, c := range []struct {
		name        string
		lines, size int
	}{{"many", 900, 1}, {"long", 10, 5 << 10}, {"of one name", 0, 1}} {
		w.provider.On("GET", thing, func(w http.ResponseWriter, _ *http.Request) {
			for i := range c.lines {
				w.Header()[fmt.Sprintf("X-Ms-Many-%d", i)] = []string{strings.Repeat("a", c.size)}
			}
			if c.lines == 0 {
				w.Header()["X-Ms-Many"] = slices.Repeat([]string{"a"}, 900)
			}
			w.Header()["Etag"] = []string{`"tag"`}
			w.Header()["Content-Type"] = []string{"application/json"}
			_, _ = fmt.Fprint(w, `{"properties":{}}`)
		})
		got := w.as(t, alice, "GET", thing+api, "").Want(t, 200)
		lines, size := 0, 0
		for name, values := range got.Header {
			for _, value := range values {
				lines, size = lines+1, size+len(name)+len(value)+4
			}
		}
		if lines > 90 || size > 14<<10 || got.Header.Get("ETag") != `"tag"` || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d lines, %d bytes, ETag %q", c.name, lines, size, got.Header.Get("ETag"))
		}
	}
}

// A provider cannot make clients wait for years.
func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	for i, c := range []struct {
		status      int
		sent        string
		least, most int // 0, 0: none
	}{
		{429, "99999999999", 1, 3600}, {503, "99999999999", 1, 3600}, {409, "99999999999", 1, 3600}, {200, "99999999999", 1, 3600}, {202, "99999999999", 1, 3600}, {500, "Fri, 31 Dec 9999 23:59:59 GMT", 1, 3600},
		{429, "99999999999999999999999999", 0, 0}, {429, "soon", 0, 0}, {503, "1e9", 0, 0}, {429, "0x10", 0, 0}, {429, "17", 17, 17}, {404, "\xff", 0, 0},
	} {
		thing := w.thing("rg", fmt.Sprintf("thing%d", i))
		w.put(t, thing)
		w.provider.On("POST", thing, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Retry-After"] = []string{c.sent, "99999999999"}
			w.Header()["X-Ms-Retry-After-Ms"] = []string{"99999999999"}
			w.WriteHeader(c.status)
		})
		got := w.as(t, alice, "POST", thing+"/start"+api, "{}").Want(t, c.status)
		values := got.Header["Retry-After"]
		n := 0
		if len(values) == 1 {
			n, _ = strconv.Atoi(values[0])
		}
		if len(values) > 1 || n < c.least || n > c.most || c.most == 0 && len(values) > 0 || got.Header.Get("x-ms-retry-after-ms") != "" {
			t.Errorf("%d %s: Retry-After %q, x-ms-retry-after-ms %q", c.status, c.sent, values, got.Header.Get("x-ms-retry-after-ms"))
		}
	}
	w.provider.On("GET", "/providers/Evil.Test/things?", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "99999999999")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	got := w.as(t, alice, "GET", w.GroupPath("rg")+"/providers/Evil.Test/things"+api, "").Want(t, 429, 503)
	if n, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || n > 3600 {
		t.Errorf("merged list: Retry-After %q", got.Header.Get("Retry-After"))
	}
}
