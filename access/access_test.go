package access

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"portico/arm"
)

func TestTokens(t *testing.T) {
	sum := sha256.Sum256([]byte("secret"))
	tokens, err := NewTokens(map[string]Principal{hex.EncodeToString(sum[:]): {TenantID: "T", ObjectID: "O"}}, "https://login.example/T")
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := NewTokens(map[string]Principal{bad: {}}, ""); err == nil {
			t.Errorf("%q is taken for a hash", bad)
		}
	}
}

func TestVisibility(t *testing.T) {
	anyone, _ := Anyone{}.Authenticate(nil)
	if !anyone.CanSee("T") || anyone.In("T").TenantID != "T" {
		t.Error("the fixed principal belongs to every tenant")
	}
	p := Principal{TenantID: "t"}
	if !p.CanSee("T") || p.CanSee("U") || p.In("U").TenantID != "t" {
		t.Error("a principal belongs to its own tenant alone")
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
