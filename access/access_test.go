package access

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"portico/arm"
)

func TestTokens(t *testing.T) {
	sum := sha256.Sum256([]byte("secret"))
	method, err := NewTokens(map[string]Principal{hex.EncodeToString(sum[:]): {TenantID: "T", ObjectID: "O"}})
	if err != nil {
		t.Fatal(err)
	}
	tokens := NewMethods("https://login.example/T", NewMetrics(prometheus.NewRegistry()), method)
	for _, c := range []struct {
		sent []string
		code arm.Code
	}{
		{nil, arm.AuthenticationFailed},
		{[]string{"Bearer secret"}, ""},
		{[]string{"bearer  secret "}, ""},
		{[]string{"Bearer Secret"}, arm.InvalidAuthenticationToken},
		{[]string{"Bearer"}, arm.InvalidAuthenticationToken},
		{[]string{"Basic secret"}, arm.InvalidAuthenticationToken},
		{[]string{"Bearer secret", "Bearer secret"}, arm.InvalidAuthenticationToken},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Authorization"] = c.sent
		p, refusal := tokens.Authenticate(r)
		if (refusal == nil) != (c.code == "") || refusal != nil && refusal.Code != c.code {
			t.Errorf("%q: %v", c.sent, refusal)
		}
		if refusal == nil && p.ObjectID != "O" {
			t.Errorf("%q: %+v", c.sent, p)
		}
		if refusal != nil && !strings.HasPrefix(tokens.Challenge(refusal), `Bearer authorization_uri="https://login.example/T", error="invalid_token"`) {
			t.Errorf("challenge %s", tokens.Challenge(refusal))
		}
	}
	for _, bad := range []string{"", "zz", strings.Repeat("0", 62)} {
		if _, err := NewTokens(map[string]Principal{bad: {TenantID: "T"}}); err == nil {
			t.Errorf("%q is taken for a hash", bad)
		}
	}
	for _, bad := range []Principal{{ObjectID: "O"}, {ObjectID: "O", AnyTenant: true}, {TenantID: "T", AnyTenant: true}} {
		if _, err := NewTokens(map[string]Principal{hex.EncodeToString(sum[:]): bad}); err == nil {
			t.Errorf("%+v has a token", bad)
		}
	}
}

func TestVisibility(t *testing.T) {
	anyone, _ := Anyone{}.Authenticate(nil)
	if in := anyone.In("T"); !anyone.CanSee("T") || in.TenantID != "T" || in.CanSee("U") {
		t.Error("the fixed principal belongs to every tenant")
	}
	tenantless := Principal{ObjectID: anyone.ObjectID}
	if tenantless.CanSee("T") || tenantless.CanSee("") || tenantless.In("T").TenantID != "" {
		t.Error("a principal without a tenant belongs to none")
	}
	p := Principal{TenantID: "t"}
	if !p.CanSee("T") || p.CanSee("U") || p.In("U").TenantID != "t" {
		t.Error("a principal belongs to its own tenant alone")
	}
}

// The payload of durable work keeps the whole principal. Payloads from before the flag
// keep theirs too.
func TestStoredPrincipal(t *testing.T) {
	anyone, _ := Anyone{}.Authenticate(nil)
	for _, p := range []Principal{anyone, anyone.In("T"), {TenantID: "T", ObjectID: "O", Name: "n", AppID: "a"}, {ObjectID: "O"},
		{TenantID: "T", ObjectID: "O", AppID: "a", Delegated: true, Issuer: "https://login.example", Groups: "1 2", Expires: 3}} {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var read Principal
		if err := json.Unmarshal(text, &read); err != nil || read != p {
			t.Errorf("%s is read as %+v, %v", text, read, err)
		}
	}
	for text, sees := range map[string]bool{
		`{"TenantID":"","ObjectID":"00000000-0000-0000-0000-00000000a110"}`: true,
		`{"TenantID":"","ObjectID":"O"}`:                                    false,
		`{}`:                                                                false,
	} {
		var read Principal
		if err := json.Unmarshal([]byte(text), &read); err != nil || read.CanSee("T") != sees {
			t.Errorf("%s is read as %+v, %v", text, read, err)
		}
	}
}

func TestStamp(t *testing.T) {
	h := http.Header{}
	Principal{TenantID: "t", ObjectID: "o", AppID: "a"}.Stamp(h)
	if h.Get("x-ms-client-tenant-id") != "t" || h.Get("x-ms-home-tenant-id") != "t" || h.Get("x-ms-client-object-id") != "o" ||
		h.Get("x-ms-client-app-id") != "a" || h["X-Ms-Client-Principal-Name"] != nil {
		t.Errorf("%v", h)
	}
}

// A principal is valid exactly as long as its credential.
func TestValid(t *testing.T) {
	hash := func(token string) string {
		sum := sha256.Sum256([]byte(token))
		return hex.EncodeToString(sum[:])
	}
	ann := Principal{TenantID: "T", ObjectID: "O", AppID: "A", Name: "ann"}
	of := func(principals map[string]Principal) *Methods {
		tokens, err := NewTokens(principals)
		if err != nil {
			t.Fatal(err)
		}
		return NewMethods("", NewMetrics(prometheus.NewRegistry()), tokens)
	}
	came := func(tokens *Methods, token string) Principal {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		p, fault := tokens.Authenticate(r)
		if fault != nil {
			t.Fatal(fault)
		}
		return p
	}
	both := of(map[string]Principal{hash("one"): ann, hash("two"): ann})
	one, two := came(both, "one"), came(both, "two")
	if one.Credential == "" || one.Credential == two.Credential || strings.Contains(hash("one"), one.Credential) {
		t.Errorf("%q, %q", one.Credential, two.Credential)
	}
	renamed, other := ann, ann
	renamed.Name, other.ObjectID = "Ann", "P"
	second := of(map[string]Principal{hash("two"): renamed})
	for _, c := range []struct {
		name string
		by   Authenticator
		p    Principal
		want bool
	}{
		{"both tokens, the first", both, one, true},
		{"both tokens, no token is known", both, ann, true},
		{"the first was removed", second, one, false},
		{"the second stays, under another name", second, two, true},
		{"the token is somebody else's now", of(map[string]Principal{hash("two"): other}), two, false},
		{"nobody needs a token any more", Anyone{}, one, false},
		{"nobody needs a token", Anyone{}, fixed(), true},
		{"everybody needs one now", both, fixed(), false},
	} {
		if got := c.by.Valid(c.p); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestUserPrincipalNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p    Principal
		want string
	}{
		"a token or a certificate of the configuration": {Principal{Name: "operator"}, "operator"},
		"no name":                {Principal{}, ""},
		"an application":         {Principal{Name: "a@b", AppID: "a"}, ""},
		"a user by way of one":   {Principal{Name: "a@b", AppID: "a", Delegated: true, Issuer: "i"}, "a@b"},
		"a user of an issuer":    {Principal{Name: "a@b", Issuer: "i"}, "a@b"},
		"a user's name as shown": {Principal{Name: "Ann Other", Issuer: "i"}, ""},
		"anyone":                 {fixed(), "anyone@localhost"},
	} {
		if got := c.p.UserPrincipalName(); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
