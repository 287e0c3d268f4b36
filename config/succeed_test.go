package config

import (
	"slices"
	"testing"
	"time"

	"portico/regions"
)

func TestSucceedKeepsWhatNeedsARestart(t *testing.T) {
	old, next := Defaults(), Defaults()
	old.Server.AdminTokens = []AdminToken{{SHA256: "hash"}}
	old.Auth = Auth{Mode: AuthTokens, Tokens: []Token{{Name: "first"}}}
	old.Server.TLS = TLS{Cert: "a.pem", Key: "a.key"}
	next.Server.Listen = "127.0.0.1:1"
	next.Store.DSN, next.Store.SealKeys = "other.db", []Key{{ID: "1"}}
	next.Server.Drain.Delay = time.Minute
	next.Lists.OnRegionFailure = regions.Partial

	c, restart := MergeForReload(&old, &next)
	want := []string{"server.listen", "server.tls", "server.adminToken", "auth.mode", "store"}
	if !slices.Equal(restart, want) {
		t.Errorf("a restart for %q, want %q", restart, want)
	}
	if c.Server.Listen != old.Server.Listen || c.Store.DSN != old.Store.DSN || len(c.Store.SealKeys) > 0 || len(c.Server.AdminTokens) != 1 || c.Server.TLS != old.Server.TLS ||
		c.Auth.Mode != AuthTokens || len(c.Auth.Tokens) != 1 {
		t.Errorf("what needs a restart has changed: %+v", c)
	}
	if c.Server.Drain.Delay != time.Minute || c.Lists.OnRegionFailure != regions.Partial {
		t.Errorf("what needs none has not changed: %+v", c)
	}
	if next.Server.Listen != "127.0.0.1:1" {
		t.Error("the configuration that was handed in has changed")
	}
}

// Files of certificates and tokens are changed while the gateway runs.
func TestSucceedTakesNewSecrets(t *testing.T) {
	old, next := Defaults(), Defaults()
	old.Server.AdminTokens, next.Server.AdminTokens = []AdminToken{{SHA256: "hash"}}, []AdminToken{{SHA256: "other"}}
	old.Auth = Auth{Mode: AuthTokens, Tokens: []Token{{Name: "first"}}}
	next.Auth = Auth{Mode: AuthTokens, Tokens: []Token{{Name: "second"}}}
	old.Server.TLS, next.Server.TLS = TLS{Cert: "a.pem", Key: "a.key"}, TLS{Cert: "b.pem", Key: "b.key"}
	c, restart := MergeForReload(&old, &next)
	if len(restart) > 0 || c.Server.AdminTokens[0].SHA256 != "other" || c.Auth.Tokens[0].Name != "second" || c.Server.TLS.Cert != "b.pem" {
		t.Errorf("%+v, a restart for %q", c, restart)
	}
}
