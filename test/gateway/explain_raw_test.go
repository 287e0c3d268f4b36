package gateway_test

import (
	"strconv"
	"strings"
	"testing"

	adminapi "portico/gateway/admin/api"
	"portico/gateway/chain"
)

// What no handler sees is refused as on the connection, and the rest goes its way.
func TestExplainRaw(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	const host = "Host: portico.example\r\n"
	get := "GET " + groupPath("g") + own + " HTTP/1.1\r\n"
	for _, c := range []struct{ raw, outcome, step, says string }{
		{get + host + "\r\n", adminapi.Answered, "", "200"},
		{strings.ReplaceAll(get+host+"\r\n", "\r\n", "\n"), adminapi.Answered, "", "200"},
		{"hello\r\n\r\n", adminapi.Refused, "head", "before any handler: 400 InvalidRequestUri"},
		{"\x16\x03\x01\x02\x00\x01\n", adminapi.Refused, "head", "the request line is malformed"},
		{get + host + "Host: b\r\n\r\n", adminapi.Refused, "head", "one Host header"},
		{get + host + "A : b\r\n\r\n", adminapi.Refused, "head", "no header"},
		{get + host + "Transfer-Encoding: gzip\r\n\r\n", adminapi.Refused, "head", "501 InvalidRequestHeader"},
		{get + host + "A: " + strings.Repeat("x", chain.HeadBytes) + "\r\n\r\n", adminapi.Refused, "head", "431 "},
		{get + "Host: evil.example\r\n\r\n", adminapi.Refused, "head", "421 "},
		{get + host + "Origin: https://evil.example\r\n\r\n", adminapi.Refused, "head", "403 "},
		{get + host + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", adminapi.Refused, "head", "stands beside Transfer-Encoding"},
		{get + host + "Connection: X-Ms-Client-Request-Id\r\n\r\n", adminapi.Refused, "head", "Connection"},
		{get + host, adminapi.Refused, "head", "the head is incomplete"},
		{"GET /a#b?c HTTP/1.1\r\n" + host + "\r\n", adminapi.Refused, "classification", "400 InvalidRequestUri"},
		{"GET " + groupPath("g") + "/../h HTTP/1.1\r\n" + host + "\r\n", adminapi.Refused, "classification", "400 InvalidRequestUri"},
		{"PUT " + machinePath("g", "m") + api + " HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 21\r\n\r\n" + westus, adminapi.Forwarded, "", "goes to Contoso.Compute in westus"},
		{"PUT " + machinePath("g", "m") + api + " HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 200\r\n\r\n" + westus, adminapi.Refused, "content", "400 "},
	} {
		e := s.explained(adminapi.Question{Raw: []byte(strings.Replace(c.raw, "Content-Length: 21", "Content-Length: "+strconv.Itoa(len(westus)), 1))})
		if e.Verdict.Outcome != c.outcome || e.Verdict.Step != c.step || !strings.Contains(e.Verdict.Summary, c.says) {
			t.Errorf("%.80q: %s at %q: %s\nwant %s at %q: %s", c.raw, e.Verdict.Outcome, e.Verdict.Step, e.Verdict.Summary, c.outcome, c.step, c.says)
		}
		if len(e.Checks) == 0 || !strings.Contains(e.Checks[0].Detail, "as the public listener reads it") && e.Checks[0].Passed {
			t.Errorf("%.80q: %+v", c.raw, e.Checks)
		}
	}
	if n := s.calls(); n != 0 {
		t.Errorf("%d calls", n)
	}
}
