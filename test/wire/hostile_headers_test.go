package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// reserved are headers that only the gateway sets: a client's never reach a provider,
// in any spelling.
var reserved = []string{
	"x-ms-client-tenant-id", "x-ms-client-object-id", "x-ms-client-app-id", "x-ms-client-app-id-acr", "x-ms-client-principal-id", "x-ms-client-principal-name",
	"x-ms-client-principal-group-membership-source", "x-ms-client-puid", "x-ms-client-issuer", "x-ms-client-audience", "x-ms-client-ip-address", "x-ms-client-authorization-source",
	"x-ms-client-identity-provider", "x-ms-client-wids", "x-ms-client-authentication-methods", "x-ms-client-alt-sec-id", "x-ms-client-anything-at-all",
	"x-ms-home-tenant-id", "x-ms-home-anything", "x-ms-arm-resource-system-data", "x-ms-arm-anything", "x-ms-identity-url", "x-ms-identity-principal-id",
	"x-ms-routing-request-id", "x-ms-routing-anything", "x-ms-management-group-ancestors", "x-ms-providerhub-anything", "x-ms-original-url", "x-ms-original-anything",
	"x-ms-portico-anything",
	"x-remote-user", "x-remote-group", "x-remote-extra-scopes", "x-remote-anything",
}

// ownName is one of them that the gateway reads.
const ownName = "x-ms-portico-on-region-failure"

// spellings are spellings that servers and libraries take for the same header name.
func spellings(name string) []string {
	canonical := http.CanonicalHeaderKey(name)
	return []string{
		name, strings.ToUpper(name), canonical,
		strings.ReplaceAll(canonical, "-", "_"), strings.ReplaceAll(name, "-", "."), strings.Replace(name, "-", "_", 1),
		strings.Replace(name, "ms-", "ms_", 1), strings.ReplaceAll(strings.Replace(name, "-", "_", 1), "-client-", ".client."),
	}
}

const evil = "evil-4711"

// untainted fails if a header that reached a provider contains the client's forged
// value.
func untainted(t *testing.T, x received) {
	t.Helper()
	if strings.Contains(x.head, evil) {
		t.Errorf("the client's value reached the provider:\n%s", x.head)
	}
}

func testHostileHeaders(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "hostile-headers")
	thing := w.thing(t, g, "hostile-headers", "westus")
	accepted := func(check func(t *testing.T, got reply, x received)) want {
		return want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, reached []received) {
			t.Helper()
			if len(reached) == 1 {
				check(t, got, reached[0])
			}
		}}
	}
	get := func(header ...string) message { return message{target: thing + q, header: header} }
	clean := accepted(func(t *testing.T, _ reply, x received) {
		t.Helper()
		untainted(t, x)
		if id := x.one(t, "x-ms-client-tenant-id"); id != tenant {
			t.Errorf("x-ms-client-tenant-id %q", id)
		}
	})

	var rows []row
	for i := range spellings(reserved[0]) {
		var lines []string
		for _, name := range reserved {
			lines = append(lines, spellings(name)[i]+": "+evil, spellings(name)[i]+": "+evil+"-again")
		}
		rows = append(rows,
			row{fmt.Sprintf("H3 H4 H5 reserved names, spelling %d", i), get(lines...), clean},
			row{fmt.Sprintf("H3 H4 H5 a name of the gateway's own, spelling %d", i), get(spellings(ownName)[i] + ": fail"), accepted(func(t *testing.T, _ reply, x received) {
				if strings.Contains(strings.ToLower(x.head), "portico-on-region") {
					t.Errorf("the gateway's own header reached the provider:\n%s", x.head)
				}
			})})
	}
	for i, spelled := range []string{"X_Ms_Correlation_Request_Id", "x.ms.correlation-request-id", "x-ms_correlation-request-id", "X-MS-CORRELATION.REQUEST-ID"} {
		rows = append(rows, row{fmt.Sprintf("H3 look-alike of the correlation id %d", i), get(spelled + ": " + evil), clean})
	}
	for i, spelled := range []string{"X_Ms_Client_Request_Id", "x.ms.client.request.id"} {
		rows = append(rows, row{fmt.Sprintf("H3 look-alike of the client request id %d", i), get("x-ms-client-request-id: good", spelled+": "+evil),
			accepted(func(t *testing.T, _ reply, x received) {
				untainted(t, x)
				if id := x.one(t, "x-ms-client-request-id"); id != "good" {
					t.Errorf("x-ms-client-request-id %q", id)
				}
			})})
	}
	// H1 and H2: a Connection header may name a stamp; the stamp stays.
	stampsStay := accepted(func(t *testing.T, _ reply, x received) {
		t.Helper()
		for _, name := range []string{"x-ms-correlation-request-id", "x-ms-routing-request-id", "x-ms-client-tenant-id", "x-ms-client-object-id", "x-ms-client-ip-address", "Referer"} {
			if x.one(t, name) == "" {
				t.Errorf("%s is gone:\n%s", name, x.head)
			}
		}
	})
	const stampNames = "X-Ms-Correlation-Request-Id, x-ms-client-tenant-id, x-ms-client-object-id, x-ms-client-ip-address, referer, x-ms-routing-request-id"
	rows = append(rows,
		row{"H1 Connection names a stamp", get("Connection: close, X-Ms-Correlation-Request-Id"), stampsStay},
		row{"H1 Connection names every stamp", get("Connection: close, " + stampNames), stampsStay},
		row{"H1 Connection names stamps, put", message{method: "PUT", target: thing + q, body: located("westus"), header: []string{"Connection: keep-alive, x-ms-arm-resource-system-data"}},
			want{status: 201, reaches: "raw westus", check: func(t *testing.T, _ reply, reached []received) {
				if len(reached) == 1 && reached[0].one(t, "x-ms-arm-resource-system-data") == "" {
					t.Errorf("system data is gone:\n%s", reached[0].head)
				}
			}}},
		row{"H1 Connection names what the request is judged by", message{method: "PUT", target: thing + q, body: located("westus"), header: []string{"Connection: keep-alive, content-type, host"}},
			want{status: 400, code: "InvalidRequestHeader", about: "Connection", text: "The request header 'Connection' is invalid: it names Content-Type, which concerns more than the connection."}},
		row{"H2 two Connection lines, the first empty", get("Connection: ", "Connection: "+stampNames), stampsStay},
		row{"H2 Connection lines around", get("Connection: "+stampNames, "Connection: close", "X-Between: 1", "connection: "+stampNames), stampsStay},
		row{"hop-by-hop headers end here", get("Connection: X-Hop, close", "X-Hop: "+evil, "Keep-Alive: "+evil, "Proxy-Connection: "+evil, "Proxy-Authenticate: "+evil, "Proxy-Authorization: "+evil, "Te: "+evil, "Trailer: X-"+evil),
			accepted(func(t *testing.T, _ reply, x received) { untainted(t, x) })},
		row{"hop-by-hop named in the second line", get("Connection: ", "Connection: X-Hop", "X-Hop: "+evil), accepted(func(t *testing.T, _ reply, x received) { untainted(t, x) })},

		row{"H6 client request id twice", get("x-ms-client-request-id: one", "x-ms-client-request-id: two"), want{status: 400, code: "InvalidRequestHeader", about: "x-ms-client-request-id",
			text: "The request header 'x-ms-client-request-id' is invalid: it may be sent once."}},

		row{"H8 forwarding headers of an untrusted peer", get("X-Forwarded-For: "+evil, "X-Forwarded-Proto: "+evil, "X-Forwarded-Host: "+evil, "X-Forwarded-Port: "+evil, "X-Forwarded-Prefix: "+evil,
			"X-Forwarded-Uri: "+evil, "X-Forwarded-Server: "+evil, "X-Real-Ip: "+evil, "Forwarded: for="+evil, "X-Original-Url: /"+evil, "X-Rewrite-Url: /"+evil),
			accepted(func(t *testing.T, _ reply, x received) {
				untainted(t, x)
				if ip := x.one(t, "x-ms-client-ip-address"); ip != "127.0.0.1" {
					t.Errorf("x-ms-client-ip-address %q", ip)
				}
			})},
		row{"H8 look-alikes", get("X_Forwarded_For: "+evil, "x.forwarded.host: "+evil, "X_Real_Ip: "+evil, "X_Original_Url: /"+evil), accepted(func(t *testing.T, _ reply, x received) { untainted(t, x) })},
		row{"H8 an address that looks trusted", get("X-Forwarded-For: 127.0.0.1, 10.0.0.1"), accepted(func(t *testing.T, _ reply, x received) {
			if ip := x.one(t, "x-ms-client-ip-address"); ip != "127.0.0.1" || strings.Contains(x.head, "10.0.0.1") {
				t.Errorf("x-ms-client-ip-address %q\n%s", ip, x.head)
			}
		})},

		row{"H10 Referer", get("Referer: http://evil.example/" + evil), accepted(func(t *testing.T, _ reply, x received) {
			untainted(t, x)
			if referer := x.one(t, "Referer"); referer != publicURL+thing+q {
				t.Errorf("referer %q", referer)
			}
		})},
		row{"H10 Referer twice, one empty", get("Referer: ", "Referer: http://"+evil+"/"), accepted(func(t *testing.T, _ reply, x received) {
			untainted(t, x)
			if referer := x.one(t, "Referer"); referer != publicURL+thing+q {
				t.Errorf("referer %q", referer)
			}
		})},
		row{"H11 Upgrade: h2c", get("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), accepted(func(t *testing.T, _ reply, x received) {
			for _, name := range []string{"Upgrade", "HTTP2-Settings"} {
				if values := x.header.Values(name); len(values) != 0 {
					t.Errorf("%s: %q", name, values)
				}
			}
		})},
		row{"H11 Upgrade: h2c, not named in Connection", get("Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), accepted(func(t *testing.T, _ reply, x received) {
			for _, name := range []string{"Upgrade", "HTTP2-Settings"} {
				if values := x.header.Values(name); len(values) != 0 {
					t.Errorf("%s: %q", name, values)
				}
			}
		})},
		row{"H11 Upgrade: websocket", get("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="), accepted(func(t *testing.T, _ reply, x received) {
			if values := x.header.Values("Upgrade"); len(values) != 0 {
				t.Errorf("Upgrade: %q", values)
			}
		})},
		row{"H13 Proxy", get("Proxy: http://" + evil + "/"), accepted(func(t *testing.T, _ reply, x received) { untainted(t, x) })},
		row{"H13 Expect: 100-continue", message{method: "PUT", target: thing + q, body: located("westus"), header: []string{"Expect: 100-continue"}}, want{status: 201, reaches: "raw westus"}},
		row{"H13 Expect: something else", message{method: "PUT", target: thing + q, body: located("westus"), header: []string{"Expect: 200-maybe"}}, want{status: 417}},
		row{"credentials end here", get("Authorization: Bearer "+evil, "Cookie: session="+evil, "Cookie: b="+evil), accepted(func(t *testing.T, _ reply, x received) {
			untainted(t, x)
			for _, name := range []string{"Authorization", "Cookie"} {
				if values := x.header.Values(name); len(values) != 0 {
					t.Errorf("%s: %q", name, values)
				}
			}
		})},
		row{"two Content-Types", message{method: "PUT", target: thing + q, body: located("westus"), header: []string{"Content-Type: application/json", "Content-Type: text/plain"}},
			want{status: 415, code: "UnsupportedMediaType", about: "Content-Type",
				text: "The content media type 'application/json, text/plain' is not supported. Only 'application/json' is supported."}},
	)
	misdirected := want{status: 421, code: "MisdirectedRequest", text: "The host of this request is none that this service answers for.", about: "Host"}
	for name, m := range map[string]message{
		"H10 Host: evil":                     {target: thing + q, host: "evil.example"},
		"H10 Host: evil with the right port": {target: thing + q, host: "evil.example:" + w.address[strings.LastIndexByte(w.address, ':')+1:]},
		"H10 Host: a longer name":            {target: thing + q, host: "management.portico.test.evil.example"},
		"H10 Host: the right IP, other port": {target: thing + q, host: "127.0.0.1:1"},
		"H10 absolute form":                  {target: "http://evil.example" + thing + q, host: "evil.example"},
		"H10 absolute form, own Host":        {target: "http://evil.example" + thing + q},
		"H10 Host: evil, own route":          {target: g + q, host: "evil.example"},
		"H10 Host: evil, put":                {method: "PUT", target: thing + q, body: located("westus"), host: "evil.example"},
		"H10 Host: evil, metadata":           {target: "/metadata/endpoints?api-version=2022-09-01", host: "evil.example"},
	} {
		rows = append(rows, row{name, m, misdirected})
	}
	forbidden := want{status: 403, code: "Forbidden", text: "Requests on behalf of web pages are refused: this service runs without authentication.", about: "Origin"}
	for name, origin := range map[string]string{"evil": "https://evil.example", "null": "null", "the public address": publicURL, "the listener": "http://" + w.address} {
		rows = append(rows,
			row{"Origin: " + name, get("Origin: " + origin), forbidden},
			row{"Origin: " + name + ", put", message{method: "PUT", target: thing + q, body: located("westus"), header: []string{"Origin: " + origin}}, forbidden},
			row{"Origin: " + name + ", own route", message{target: g + q, header: []string{"Origin: " + origin}}, forbidden},
		)
	}
	w.table(t, rows)

	t.Run("H3 look-alikes are counted", func(t *testing.T) {
		const count = "portico_spoofed_headers_total"
		before := w.metric(t, count)
		w.must(t, get("X_Ms_Correlation_Request_Id: "+evil, "x.ms.client-tenant-id: "+evil, "x_ms_client_tenant_id: "+evil, "x-ms-client-tenant-id: "+evil, "X_Custom: fine"), 200)
		if n := w.metric(t, count) - before; n != 3 {
			t.Errorf("%v were counted, want 3", n)
		}
	})
	t.Run("H10 every polling and page address is built from the public one", func(t *testing.T) {
		host := strings.TrimPrefix(publicURL, "https://")
		for _, m := range []message{{target: S + "/resourceGroups" + q + "&$top=1"}, {target: S + "/resourceGroups" + q + "&$top=1", host: host},
			{target: S + "/resourceGroups" + q + "&$top=1", header: []string{"X-Forwarded-Host: " + evil, "X-Forwarded-Proto: gopher", "Forwarded: host=" + evil}}} {
			p := readPage(t, w.must(t, m, 200))
			if p.NextLink == nil || !strings.HasPrefix(*p.NextLink, publicURL+"/") {
				t.Errorf("nextLink %v", p.NextLink)
			}
		}
	})
}

// H9: forwarding headers count only from a trusted network.
func testTrustedProxies(t *testing.T, w *world) {
	const q = "?" + V
	trusting := &world{contoso: w.contoso, scripted: w.scripted, client: w.client, program: w.program}
	trusting.gateway = trusting.start(t, "  trustedProxies: [127.0.0.0/8, 10.0.0.0/8]\n", nil)
	g := trusting.group(t, "trusted")
	thing := trusting.thing(t, g, "trusted", "westus")
	var rows []row
	for _, c := range []struct {
		name, client string
		header       []string
	}{
		{"one client", "203.0.113.7", []string{"X-Forwarded-For: 203.0.113.7"}},
		{"right to left", "203.0.113.7", []string{"X-Forwarded-For: 198.51.100.1, 203.0.113.7"}},
		{"trusted hops are passed over", "203.0.113.7", []string{"X-Forwarded-For: 198.51.100.1, 203.0.113.7, 10.1.2.3, 127.0.0.9"}},
		{"two lines are one list", "203.0.113.7", []string{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 203.0.113.7, 10.1.2.3"}},
		{"IPv6", "2001:db8::1", []string{"X-Forwarded-For: 2001:db8::1"}},
		{"the zone is cut", "fe80::1", []string{"X-Forwarded-For: fe80::1%eth0"}},
		{"no header", "127.0.0.1", nil},
	} {
		rows = append(rows, row{"H9 " + c.name, message{target: thing + q, header: c.header}, want{status: 200, reaches: "raw westus", check: func(t *testing.T, _ reply, reached []received) {
			if len(reached) != 1 {
				return
			}
			x := reached[0]
			if ip := x.one(t, "x-ms-client-ip-address"); ip != c.client {
				t.Errorf("x-ms-client-ip-address %q, want %q", ip, c.client)
			}
			if c.header == nil {
				return
			}
			var chain []string
			for _, line := range x.header.Values("X-Forwarded-For") {
				for hop := range strings.SplitSeq(line, ",") {
					chain = append(chain, strings.TrimSpace(hop))
				}
			}
			if len(chain) == 0 || chain[len(chain)-1] != "127.0.0.1" || !slices.Contains(chain, c.client) {
				t.Errorf("X-Forwarded-For %q, want the client's chain and this peer appended", chain)
			}
		}}})
	}
	for name, chain := range map[string]string{"no address at all": evil, "empty": "", "a script": "<script>", "a host name": "localhost", "unknown": "unknown, " + evil} {
		rows = append(rows, row{"H9 " + name, message{target: thing + q, header: []string{"X-Forwarded-For: " + chain}}, want{status: 200, reaches: "raw westus", check: func(t *testing.T, _ reply, reached []received) {
			if len(reached) == 1 && reached[0].one(t, "x-ms-client-ip-address") != "127.0.0.1" {
				t.Errorf("x-ms-client-ip-address %q", reached[0].header.Values("x-ms-client-ip-address"))
			}
		}}})
	}
	rows = append(rows, row{"H9 a trusted peer sets no other header", message{target: thing + q, header: []string{"X-Forwarded-For: 203.0.113.7", "X-Ms-Client-Ip-Address: " + evil, "Referer: http://" + evil + "/", "x-ms-client-tenant-id: " + evil}},
		want{status: 200, reaches: "raw westus", check: func(t *testing.T, _ reply, reached []received) {
			if len(reached) == 1 {
				untainted(t, reached[0])
				if referer := reached[0].one(t, "Referer"); !strings.HasPrefix(referer, publicURL+"/") {
					t.Errorf("referer %q", referer)
				}
			}
		}}})
	trusting.table(t, rows)
}
