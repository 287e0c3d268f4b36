package config

import (
	"errors"
	"io"
	"strings"
	"testing"

	"portico/arm"
	"portico/config/rule"
	"portico/regions"
)

// FuzzParse feeds texts to parse. It must not panic; it returns either faults,
// each with its place and on one line, or a configuration that has every property
// that the rest of the gateway relies on (checkConfig).
func FuzzParse(f *testing.F) {
	f.Add(minimal)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse("fuzz.yaml", text)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			checkFaults(t, err)
			return
		}
		checkConfig(t, c)
	})
}

func checkFaults(t *testing.T, err error) {
	var faults Faults
	if !errors.As(err, &faults) || len(faults) == 0 {
		t.Fatalf("%T is not Faults, or has none", err)
	}
	for i, f := range faults {
		if f.File != "fuzz.yaml" || f.Line < 1 || f.What == "" || strings.ContainsAny(f.Error(), "\n\r") {
			t.Errorf("malformed fault %q", f.Error())
		}
		if i > 0 && f.Line < faults[i-1].Line {
			t.Errorf("line %d after line %d", f.Line, faults[i-1].Line)
		}
	}
}

func checkConfig(t *testing.T, c *Config) {
	if _, ok := c.Map.Region(c.Server.Region); !ok {
		t.Errorf("server.region %q is no region", c.Server.Region)
	}
	if u := c.Server.PublicURL; u == nil || u.Host == "" || u.Path != "" || u.User != nil || u.RawQuery != "" {
		t.Errorf("publicURL %v", u)
	}
	if c.Auth.Mode == AuthNone && !isLoopback(c.Server.Listen) {
		t.Errorf("no authentication on %s", c.Server.Listen)
	}
	if c.Auth.Mode == AuthTokens && (len(c.Auth.Tokens) == 0 || !isLoopback(c.Server.Listen) && c.Server.TLS == TLS{}) {
		t.Errorf("tokens %d, listener %s, TLS %+v", len(c.Auth.Tokens), c.Server.Listen, c.Server.TLS)
	}
	if !isLoopback(c.Server.Admin) && len(c.Server.AdminTokens) == 0 {
		t.Errorf("no token on %s", c.Server.Admin)
	}
	if c.Lists.Memory < c.Limits.AnswerBody || c.Limits.RequestBody <= 0 || c.Operations.RetryAfterMin > c.Operations.RetryAfterMax {
		t.Errorf("%+v %+v %+v", c.Lists, c.Limits, c.Operations)
	}
	for _, s := range c.Subscriptions {
		if !arm.ValidGUID(s.ID) || !arm.ValidGUID(s.TenantID) || s.State == "" {
			t.Errorf("%+v", s)
		}
	}
	for _, p := range c.Map.Providers() {
		if c.Map.Provider(strings.ToUpper(p.Namespace)) != p || !arm.ValidNamespace(p.Namespace) {
			t.Errorf("provider %q is not found", p.Namespace)
		}
		checkEndpoint(t, p.Endpoint(arm.GlobalLocation), arm.GlobalLocation)
		for _, rt := range p.Types() {
			checkType(t, c, p, rt)
		}
	}
	writeRoutes(t, io.Discard, c.Map)
}

func checkType(t *testing.T, c *Config, p *regions.Provider, rt *regions.ResourceType) {
	name, nested := rt.Name, strings.Contains(rt.Name, "/")
	if p.TypeNamed(strings.ToUpper(name)) != rt || p.Type([]byte(strings.ToLower(name))) != rt {
		t.Errorf("type %q is not found", name)
	}
	if nested != (rt.Parent != nil) || nested && (rt.Routing != rt.Parent.Routing || rt.Parent.Kind == regions.Extension) {
		t.Errorf("type %q: parent %+v", name, rt.Parent)
	}
	if len(rt.APIVersions) == 0 || len(rt.EffectiveRegions()) == 0 {
		t.Errorf("type %q: %v in %v", name, rt.APIVersions, rt.EffectiveRegions())
	}
	for i, v := range rt.APIVersions {
		if !arm.ValidAPIVersion(v) || !rt.Supports(strings.ToUpper(v)) || i > 0 && arm.CompareAPIVersions(rt.APIVersions[i-1], v) <= 0 {
			t.Errorf("type %q: api-versions %v", name, rt.APIVersions)
		}
	}
	for _, region := range rt.EffectiveRegions() {
		if _, ok := c.Map.Region(region); ok == (rt.Routing == regions.Global) || !rt.OffersLocation(region) {
			t.Errorf("type %q lies in %q", name, region)
		}
		checkEndpoint(t, rt.Endpoint(region), region)
	}
	if rt.Kind == regions.ProxyOnly && !nested && len(rt.EffectiveRegions()) > 1 {
		t.Errorf("proxyOnly type %q lies in %v", name, rt.EffectiveRegions())
	}
}

func checkEndpoint(t *testing.T, e *regions.Endpoint, region string) {
	if e == nil || e.Region != region || len(e.URLs) == 0 {
		t.Fatalf("endpoint %v of %s", e, region)
	}
	for _, u := range e.URLs {
		if canonical, wrong := rule.ParseAddress(u.String()); wrong != "" || *canonical != *u {
			t.Errorf("address %q %s", u, wrong)
		}
	}
}
