package tracing

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"portico/arm"
)

const guid = "6f1c0b5e-9d2a-4c1e-8f43-0a1b2c3d4e5f"

var arrived = time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))

func TestIdentify(t *testing.T) {
	for _, c := range []struct {
		name        string
		sent        http.Header
		correlation string // "" for a new id
		client      string
		echo        bool
		code        arm.Code
	}{
		{name: "nothing sent", sent: http.Header{}},
		{name: "correlation kept", sent: http.Header{CorrelationHeader: {strings.ToUpper(guid)}}, correlation: strings.ToUpper(guid)},
		{name: "correlation no GUID", sent: http.Header{CorrelationHeader: {"not-a-guid"}}},
		{name: "correlation in braces", sent: http.Header{CorrelationHeader: {"{" + guid + "}"}}},
		{name: "correlation twice", sent: http.Header{CorrelationHeader: {guid, guid}}},
		{name: "echo", sent: http.Header{ClientRequestHeader: {"abc"}, ReturnClientHeader: {"TRUE"}}, client: "abc", echo: true},
		{name: "no echo", sent: http.Header{ClientRequestHeader: {"abc"}, ReturnClientHeader: {"false"}}, client: "abc"},
		{name: "client id twice", sent: http.Header{ClientRequestHeader: {"a", "b"}}, code: arm.InvalidRequestHeader},
		{name: "client id too long", sent: http.Header{ClientRequestHeader: {strings.Repeat("a", 257)}}, code: arm.InvalidRequestHeader},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, err := Identify(c.sent, "westus", arrived)
			if (err == nil) != (c.code == "") || err != nil && err.Code != c.code {
				t.Fatalf("error %v", err)
			}
			if !arm.ValidGUID(id.Request) || id.Routing != "WESTUS:20260102T020405Z:"+id.Request {
				t.Errorf("ids %+v", id)
			}
			want := c.correlation
			if want == "" {
				want = id.Request
			}
			if id.Correlation != want || id.Client != c.client || id.Echo != c.echo {
				t.Errorf("ids %+v", id)
			}
		})
	}
}

func TestStrip(t *testing.T) {
	kept := []string{"X-Ms-Client-Request-Id", "X-Ms-Return-Client-Request-Id", "Accept-Language", "If-Match", "X-Contoso-Async", "X-Ms-Date", "my_header", "Content-Type"}
	gone := []string{
		"Authorization", "Cookie", "Referer", "X-Forwarded-For", "X-Forwarded-Port", "X-Real-Ip", "Forwarded", "X-Original-Url", "X-Rewrite-Url", "X-Remote-User",
		"X-Remote-Extra-Scopes", "X-Ms-Client-Tenant-Id", "X-Ms-Client-Principal-Name", "X-Ms-Client-Ip-Address", "X-Ms-Home-Tenant-Id", "X-Ms-Arm-Resource-System-Data",
		"X-Ms-Identity-Url", "X-Ms-Routing-Request-Id", "X-Ms-Management-Group-Ancestors", "X-Ms-Providerhub-X", "X-Ms-Original-Url", "X-Ms-Portico-On-Region-Failure",
		"X-Ms-Correlation-Request-Id",
	}
	alike := []string{"X_ms_correlation_request_id", "x.ms.client-tenant-id", "X_ms-Client-Request-Id", "x_ms_anything", "x_forwarded_for", "X_Remote_User"}
	h := http.Header{}
	for _, name := range append(append(append([]string{}, kept...), gone...), alike...) {
		h[name] = []string{"v"}
	}
	if n := Strip(h); n != len(alike) {
		t.Errorf("%d look-alikes, want %d", n, len(alike))
	}
	for _, name := range kept {
		if h[name] == nil {
			t.Errorf("%s is gone", name)
		}
		delete(h, name)
	}
	for name := range h {
		t.Errorf("%s passed", name)
	}
}

func TestStripAllocatesNothing(t *testing.T) {
	h := http.Header{"X-Ms-Client-Request-Id": {"a"}, "Accept": {"b"}, "User-Agent": {"c"}, "X-Contoso-Async": {"d"}, "If-Match": {"e"}}
	if n := testing.AllocsPerRun(100, func() { Strip(h) }); n != 0 || len(h) != 5 {
		t.Errorf("%v allocations, %d headers", n, len(h))
	}
}

// No client can set a header that is stamped, and the page for providers names each.
func TestStampedHeaders(t *testing.T) {
	page, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range new(Stamps).rows() {
		documented := row.header
		if strings.HasPrefix(documented, "X-Ms-") {
			documented = strings.ToLower(documented)
		}
		if !Reserved(row.header) || http.CanonicalHeaderKey(row.header) != row.header || !strings.Contains(string(page), "`"+documented+"`") {
			t.Errorf("%s is not reserved, not canonical, or not documented", row.header)
		}
	}
}

func TestStamps(t *testing.T) {
	h := http.Header{}
	s := Stamps{
		Identity: Identity{Correlation: "c", Routing: "R"}, TenantID: "t", AuthorizationSource: "Bypassed", SystemData: "{}",
		Client: ClientOf("192.0.2.1:99", http.Header{}, nil), Public: &url.URL{Scheme: "https", Host: "portico.example"}, Referer: "https://portico.example/a",
	}
	s.Set(h)
	want := map[string]string{
		CorrelationHeader: "c", RoutingHeader: "R", "X-Ms-Client-Tenant-Id": "t", "X-Ms-Home-Tenant-Id": "t", "X-Ms-Client-Authorization-Source": "Bypassed",
		"Referer": "https://portico.example/a", "X-Ms-Client-Ip-Address": "192.0.2.1", "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https",
		"X-Forwarded-Host": "portico.example", SystemDataHeader: "{}",
	}
	for name, values := range h {
		if len(values) != 1 || values[0] != want[name] || want[name] == "" {
			t.Errorf("%s: %q", name, values)
		}
	}
	if len(h) != len(want) {
		t.Errorf("%v", h)
	}
	if !Varies(CorrelationHeader) || !Varies("X-Forwarded-For") || Varies("Referer") || Varies("X-Other") {
		t.Error("other headers vary")
	}
	fields := discarded(0)
	if n := testing.AllocsPerRun(100, func() { s.Set(&fields) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// discarded counts headers.
type discarded int

func (d *discarded) Set(string, string) { *d++ }

func TestStampAnswer(t *testing.T) {
	id := Identity{Request: "r", Correlation: "c", Routing: "R", Client: "mine", Echo: true}
	h := http.Header{CorrelationHeader: {"provider's"}, ClientRequestHeader: {"other"}}
	id.StampAnswer(h, h)
	for name, want := range map[string]string{CorrelationHeader: "c", RoutingHeader: "R", RequestHeader: "r", ClientRequestHeader: "mine"} {
		if got := h.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	h = http.Header{RequestHeader: {"provider's"}, ClientRequestHeader: {"unasked"}}
	Identity{Request: "r"}.StampAnswer(h, h)
	if h.Get(RequestHeader) != "provider's" || h.Get(ClientRequestHeader) != "" {
		t.Errorf("%v", h)
	}
}

func TestClientOf(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, c := range []struct{ remote, chain, client, forwarded string }{
		{"192.0.2.1:99", "198.51.100.1", "192.0.2.1", "192.0.2.1"},
		{"10.0.0.1:99", "198.51.100.9, 198.51.100.1, 10.2.3.4", "198.51.100.1", "198.51.100.1, 10.2.3.4, 10.0.0.1"},
		{"10.0.0.1:99", "junk, 198.51.100.1:8080", "198.51.100.1", "198.51.100.1, 10.0.0.1"},
		{"10.0.0.1:99", "junk", "10.0.0.1", "10.0.0.1"},
		{"[::1%lo]:99", "fe80::1%eth0", "fe80::1", "fe80::1, ::1"},
		{"[::ffff:10.0.0.1]:99", "[2001:db8::1]:5", "2001:db8::1", "2001:db8::1, 10.0.0.1"},
	} {
		got := ClientOf(c.remote, http.Header{"X-Forwarded-For": {c.chain}}, trusted)
		if got.Address.String() != c.client || got.Forwarded != c.forwarded || got.Trusted == strings.HasPrefix(c.remote, "192.") {
			t.Errorf("%s behind %s: %+v", c.chain, c.remote, got)
		}
	}
}

func TestRoutingID(t *testing.T) {
	if !regexp.MustCompile(`^[A-Z0-9]+:\d{8}T\d{6}Z:[0-9a-f-]{36}$`).MatchString(mustIdentify(t).Routing) {
		t.Error("form of the routing id")
	}
}

func mustIdentify(t *testing.T) Identity {
	t.Helper()
	id, err := Identify(http.Header{}, "NorthEurope2", arrived)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
