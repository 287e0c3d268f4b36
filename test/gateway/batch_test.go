package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"portico/arm"
)

// responses is the answer to a batch.
type responses struct {
	Responses []response
}

type response struct {
	Name           json.RawMessage
	HTTPStatusCode int
	Headers        map[string]string
	Content        json.RawMessage
	ContentLength  int
}

func (r response) code() string {
	var fault struct{ Error struct{ Code string } }
	_ = json.Unmarshal(r.Content, &fault)
	return fault.Error.Code
}

// brief is status, and code of an error.
func (r response) brief() string {
	return strings.TrimSpace(fmt.Sprint(r.HTTPStatusCode, " ", r.code()))
}

const batchPath = "/batch?api-version=2020-06-01"

// batch sends requests in one, each as JSON, and wants an answer to each.
func (s *site) batch(requests []string, header ...string) []response {
	s.t.Helper()
	got := decode[responses](s.t, s.ok(200, "POST", batchPath, `{"requests":[`+strings.Join(requests, ",")+`]}`, header...))
	if len(got.Responses) != len(requests) {
		s.t.Fatalf("%d answers to %d requests", len(got.Responses), len(requests))
	}
	return got.Responses
}

// get is a request of a batch.
func get(target string) string { return fmt.Sprintf(`{"httpMethod":"GET","url":%q}`, target) }

// The shape is that of the clients that send batches: the portal, PowerShell's
// and Go's scripts.
func TestBatchAnswersInOrder(t *testing.T) {
	s := newSite(t, setup{public: "https://portico.example"})
	s.group("g")
	m := machinePath("g", "a b")
	const correlation = "0f0e0d0c-0000-4000-8000-00000000c0de"
	got := s.ok(200, "POST", batchPath, `{"requests":[
		{"httpMethod":"GET","name":"first","requestHeaderDetails":{"commandName":"fx."},"url":"/subscriptions?api-version=2020-01-01"},
		{"Name":7,"HttpMethod":"put","RelativeUrl":"`+m+api+`","Content":{"location":"eastus",  "tags":{"a":"<1.0e2>"}}},
		{"httpMethod":"GET","url":"https://portico.example`+groupPath("none")+own+`","content":{}},
		{"httpMethod":"HEAD","url":"`+groupPath("g")+own+`","content":null,"name":null},
		{"httpMethod":"DELETE","url":"`+machinePath("g", "gone")+api+`"}
	]}`, "x-ms-correlation-request-id", correlation, "Accept-Encoding", "identity")
	if got.header.Get("Content-Type") != "application/json; charset=utf-8" || got.header.Get("Content-Length") != fmt.Sprint(len(got.text)) ||
		got.header.Get("X-Ms-Correlation-Request-Id") != correlation || got.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%v", got.header)
	}
	all := decode[responses](t, got).Responses
	ids := map[string]bool{got.header.Get("X-Ms-Request-Id"): true}
	for i, want := range []struct{ name, brief string }{{`"first"`, "200"}, {"7", "201"}, {"", "404 ResourceGroupNotFound"}, {"", "204"}, {"", "204"}} {
		r := all[i]
		if string(r.Name) != want.name || r.brief() != want.brief || r.ContentLength != len(r.Content) {
			t.Errorf("%d: %s %s, %d bytes of %s", i, r.Name, r.brief(), r.ContentLength, r.Content)
		}
		if r.Headers["x-ms-correlation-request-id"] != correlation || !strings.HasPrefix(r.Headers["x-ms-routing-request-id"], "WESTUS:") || r.Headers["Cache-Control"] != "no-cache" {
			t.Errorf("%d: %v", i, r.Headers)
		}
		id := r.Headers["x-ms-routing-request-id"][len("WESTUS:20060102T150405Z:"):]
		if !arm.ValidGUID(id) || ids[id] {
			t.Errorf("%d: the id %s is no one's alone", i, id)
		}
		ids[id] = true
	}
	if all[1].Headers["ETag"] == "" || !strings.Contains(string(all[1].Content), `<1.0e2>`) {
		t.Errorf("%v %s", all[1].Headers, all[1].Content)
	}
	if all[2].Headers["x-ms-failure-cause"] != "gateway" || all[2].Headers["Content-Type"] != "application/json; charset=utf-8" {
		t.Errorf("%v", all[2].Headers)
	}
	if row, _ := s.row(m); !firm(row) || row.Region != "eastus" || row.ID != m {
		t.Errorf("%+v", row)
	}
	if n := strings.Count(s.log.String(), correlation); n != 6+3 { // of the access log, and for writes of the audit log
		t.Errorf("%d lines of the log belong together", n)
	}
}

func TestBatchOfNoForm(t *testing.T) {
	s := newSite(t, setup{sections: "batch: {requests: 30}"})
	many := `{"requests":[` + strings.Repeat(get("/tenants"+own)+",", 30) + get("/tenants"+own) + `]}`
	for _, c := range []struct{ body, why string }{
		{``, "there is no content"},
		{`{`, ""},
		{`[]`, "of the kind 'array'"},
		{`{}`, "requests holds no request"},
		{`{"requests":[]}`, "requests holds no request"},
		{`{"requests":null}`, "requests holds no request"},
		{`{"requests":{}}`, "of the kind 'object'"},
		{`{"requests":[null]}`, "requests[0]: httpMethod is missing"},
		{`{"requests":[7]}`, "of the kind 'number'"},
		{`{"requests":[` + get("/tenants"+own) + `,{"url":"/tenants"}]}`, "requests[1]: httpMethod is missing"},
		{`{"requests":[{"httpMethod":"GET","url":""}]}`, "requests[0]: url is missing"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","relativeUrl":"/b"}]}`, "both given"},
		{`{"requests":[{"httpMethod":"GET","url":7}]}`, "of the kind 'number'"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","name":{}}]}`, "name is neither a text nor a number"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","name":true}]}`, "name is neither a text nor a number"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","name":"` + strings.Repeat("n", 300) + `"}]}`, "name is too long"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","headers":[]}]}`, "of the kind 'array'"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","headers":{"a":7}}]}`, "the header 'a' is neither a text nor a list of texts"},
		{many, "requests holds 31 requests, and may hold 30"},
	} {
		got := s.want(400, "InvalidRequestContent", "POST", batchPath, c.body)
		if !strings.Contains(got.text, c.why) {
			t.Errorf("%.80s: %s", c.body, got.text)
		}
	}
	s.want(400, "MissingApiVersionParameter", "POST", "/batch", `{"requests":[`+get("/tenants"+own)+`]}`)
	s.want(405, "MethodNotAllowed", "GET", batchPath, "")
	s.want(415, "UnsupportedMediaType", "POST", batchPath, `{}`, "Content-Type", "text/plain")
}

// What is wrong with one request is that one's answer.
func TestBatchedRequestsFailApart(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.machine("g", "m", "westus")
	m := machinePath("g", "m") + api
	long := strings.Repeat("x", 17<<10)
	cases := []struct{ request, brief string }{
		{get("/tenants" + own), "200"},
		{get("http://portico.example/tenants" + own), "200"},
		{get("HTTPS://PORTICO.example/tenants" + own), "200"},
		{get("http://localhost:8080/tenants" + own), "200"},
		{get("http://evil.example/tenants" + own), "400 InvalidRequestUri"},
		{get("http://portico.example@evil.example/tenants" + own), "400 InvalidRequestUri"},
		{get("ftp://portico.example/tenants" + own), "400 InvalidRequestUri"},
		{get("//evil.example/tenants" + own), "400 InvalidRequestUri"},
		{get("tenants" + own), "400 InvalidRequestUri"},
		{get("http://portico.example"), "400 MissingApiVersionParameter"},
		{get("/tenants" + own + "#x"), "400 InvalidRequestUri"},
		{get("/subscriptions/x/../y" + own), "400 InvalidRequestUri"},
		{get("/tenants\n" + own), "400 InvalidRequestUri"},
		{get("/" + long + own), "414 InvalidRequestUri"},
		{get(inSubscription + "/resources" + own + "&$filter=name eq 'm' and location eq 'West US'"), "200"},
		{`{"httpMethod":"POST","url":"` + batchPath + `","content":{"requests":[` + get("/tenants"+own) + `]}}`, "400 InvalidRequestUri"},
		{`{"httpMethod":"FOO","url":"/tenants` + own + `"}`, "501 NotImplemented"},
		{`{"httpMethod":"OPTIONS","url":"/tenants` + own + `"}`, "405 MethodNotAllowed"},
		{`{"httpMethod":"GET","url":"` + m + `","headers":{"a b":"c"}}`, "400 InvalidRequestHeader"},
		{`{"httpMethod":"GET","url":"` + m + `","headers":{"":"c"}}`, "400 InvalidRequestHeader"},
		{`{"httpMethod":"GET","url":"` + m + `","headers":{"a":"b\r\nc: d"}}`, "400 InvalidRequestHeader"},
		{`{"httpMethod":"GET","url":"` + m + `","headers":{"a":"` + long + `"}}`, "431 InvalidRequestHeader"},
		{`{"httpMethod":"GET","url":"` + m + `","headers":{"x-ms-client-request-id":["a","b"]}}`, "400 InvalidRequestHeader"},
		{`{"httpMethod":"PUT","url":"` + m + `","content":[]}`, "400 InvalidRequestContent"},
		{`{"httpMethod":"PUT","url":"` + m + `","content":{"location":"westus"},"headers":{"Content-Type":"text/plain"}}`, "415 UnsupportedMediaType"},
		{`{"httpMethod":"PUT","url":"` + m + `","content":{"location":"eastus"}}`, "409 InvalidResourceLocation"},
		{`{"httpMethod":"PUT","url":"` + m + `","content":{"location":"westus"},"headers":{"If-Match":"\"stale\""}}`, "412 PreconditionFailed"},
		{`{"httpMethod":"PUT","url":"` + groupPath("g") + own + `","content":{"location":"westus"},"requestHeaderDictionary":{"If-None-Match":["*"]}}`, "412 PreconditionFailed"},
		{`{"httpMethod":"GET","url":"` + m + `","headers":{"x-contoso-fault":"status=503"}}`, "503 ContosoFault"},
	}
	for i := 0; i < len(cases); i += 20 {
		some := cases[i:min(i+20, len(cases))]
		var requests []string
		for _, c := range some {
			requests = append(requests, c.request)
		}
		for j, r := range s.batch(requests) {
			if want := some[j].brief; r.brief() != want {
				t.Errorf("%.120s: %s, want %s: %s", some[j].request, r.brief(), want, r.Content)
			}
		}
	}
}

// A request in a batch is its caller's, whatever it says of itself; a provider
// sees it as any other.
func TestBatchedRequestsHaveOneCaller(t *testing.T) {
	s := newSite(t, setup{tokens: true, server: ", trustedProxies: [127.0.0.0/8]"})
	ann := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	const other = "00000000-0000-0000-0000-000000000009"
	s.subscribe(other, otherTenant, 0)
	forged := `"headers":{"Authorization":"` + bearer(stranger) + `","X-Forwarded-For":"1.2.3.4","x-ms-client-object-id":"evil","x_ms_client_tenant_id":"evil",
		"x-ms-correlation-request-id":"00000000-0000-4000-8000-00000000ffff","x-ms-client-request-id":"mine","x-ms-return-client-request-id":"true",
		"Accept-Encoding":"gzip","Host":"evil","Connection":"close, accept-hop","accept-hop":"1","x-mine":"1","x-ms-bar":"2"},"requestHeaderDetails":{"commandName":"blade."}`
	all := s.batch([]string{
		`{"httpMethod":"PUT","url":"` + machinePath("g", "m") + api + `","content":{"location":"westus"},` + forged + `}`,
		`{"httpMethod":"GET","url":"/subscriptions/` + other + own + `",` + forged + `}`,
		get("/subscriptions" + own),
	}, append(ann, "User-Agent", "portal/1", "Accept-Language", "de", "X-Forwarded-For", "9.8.7.6")...)
	if all[0].brief() != "201" || all[1].brief() != "404 SubscriptionNotFound" || strings.Contains(string(all[2].Content), other) {
		t.Fatalf("%s, %s, %s", all[0].Content, all[1].brief(), all[2].Content)
	}
	if all[0].Headers["x-ms-client-request-id"] != "mine" || all[2].Headers["x-ms-client-request-id"] != "" {
		t.Errorf("%v", all[0].Headers)
	}
	got := s.at("westus").requests()
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	h := got[0].Headers
	for name, want := range map[string]string{
		"X-Ms-Client-Object-Id": callers[secret].ObjectID, "X-Ms-Client-Tenant-Id": tenant, "X-Ms-Client-Request-Id": "mine",
		"X-Ms-Correlation-Request-Id": all[0].Headers["x-ms-correlation-request-id"], "X-Ms-Client-Ip-Address": "9.8.7.6",
		"X-Ms-Command-Name": "blade.", "X-Ms-Bar": "2", "Accept-Hop": "", "X-Mine": "", "User-Agent": "portal/1", "Accept-Language": "de", "Authorization": "",
		"Accept-Encoding": "", "X_ms_client_tenant_id": "", "Content-Type": "application/json; charset=utf-8",
		"Referer": "http://portico.example" + machinePath("g", "m") + api,
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if n := s.metric("portico_spoofed_headers_total"); n != "2" {
		t.Errorf("%s spoofed headers", n)
	}
	s.want(401, "AuthenticationFailed", "POST", batchPath, `{"requests":[`+get("/tenants"+own)+`]}`)
}

// An answer that is not whole, or too long, is never a shortened success.
func TestBatchedAnswersAreWhole(t *testing.T) {
	s := newSite(t, setup{limits: "answerBody: 64KiB, callerShare: 100%", sections: "lists: {memory: 1MiB}\nbatch: {memory: 64KiB, totalMemory: 64KiB, atOnce: 2}"})
	s.group("g")
	for i := range 6 {
		s.ok(201, "PUT", machinePath("g", fmt.Sprint("m", i))+api, `{"location":"westus","properties":{"text":"`+strings.Repeat("x", 40<<10)+`"}}`)
	}
	m := machinePath("g", "m0") + api
	faulty := func(fault string) string {
		return `{"httpMethod":"GET","url":"` + m + `","headers":{"x-contoso-fault":"` + fault + `"}}`
	}
	for fault, want := range map[string]string{"big-chunked=100000": "502 BadGatewayConnection", "big=100000": "500 ResponseTooLarge", "html": "200"} {
		r := s.batch([]string{faulty(fault)})[0]
		if r.brief() != want {
			t.Errorf("%s: %s: %.200s", fault, r.brief(), r.Content)
		}
	}
	// What there is no room for is not sent.
	s.at("westus").requests()
	var requests []string
	for i := range 6 {
		requests = append(requests, get(machinePath("g", fmt.Sprint("m", i))+api))
	}
	refused, answered := 0, 0
	for _, r := range s.batch(requests) {
		switch r.brief() {
		case "200":
			answered++
		case "503 ServerBusy":
			refused++
			if r.Headers["Retry-After"] == "" || !strings.Contains(string(r.Content), "it was not sent") {
				t.Errorf("%v %s", r.Headers, r.Content)
			}
		default:
			t.Error(r.brief())
		}
	}
	if sent := len(s.at("westus").requests()); answered == 0 || refused == 0 || sent != answered {
		t.Errorf("%d answered, %d refused, %d sent", answered, refused, sent)
	}
	if held := s.metric("portico_batch_held_bytes"); held != "0" {
		t.Errorf("%s bytes are held", held)
	}
}
