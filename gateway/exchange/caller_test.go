package exchange

import (
	"net/netip"
	"testing"

	"portico/access"
	"portico/tracing"
)

func TestCallersAreToldApart(t *testing.T) {
	at := func(address string) *Exchange {
		return &Exchange{Client: tracing.Client{Address: netip.MustParseAddr(address)}}
	}
	as := func(tenant, object string) *Exchange {
		x := at("192.0.2.1")
		x.Principal = access.Principal{TenantID: tenant, ObjectID: object}
		return x
	}
	for _, c := range []struct {
		a, b *Exchange
		same bool
	}{
		{as("T", "a"), as("t", "a"), true},
		{as("t", "a"), as("t", "b"), false},
		{as("t", "a"), as("u", "a"), false},
		{as("t", "a"), at("192.0.2.1"), false},
		{at("192.0.2.1"), at("192.0.2.1"), true},
		{at("192.0.2.1"), at("192.0.2.2"), false},
		{at("2001:db8::1"), at("2001:db8::ffff:1"), true},
		{at("2001:db8::1"), at("2001:db8:0:1::1"), false},
	} {
		if (c.a.Caller() == c.b.Caller()) != c.same {
			t.Errorf("%q and %q", c.a.Caller(), c.b.Caller())
		}
	}
}
