package tracing

import "net/url"

// Stamps are what the front door tells a provider of a call, in headers that no client can
// set. A header without a value is not set.
type Stamps struct {
	Identity Identity
	// Of the caller.
	TenantID, ObjectID, PrincipalName, AppID, Issuer, AuthorizationSource string
	Client                                                                Client
	Public                                                                *url.URL // of the front door; nil: not told
	Referer                                                               string   // the public URI of what is called
	SystemData                                                            string   // who creates and modifies the resource, and when
}

type stamp struct {
	header, value string
	varies        bool // has another value in each request, or for each client
}

// rows returns all headers that Set sets, with their values. An array costs no allocation.
func (s *Stamps) rows() [17]stamp {
	var address, forwarded, scheme, host string
	if address = s.Client.AddressText(); address != "" {
		forwarded = s.Client.Forwarded
	}
	if s.Public != nil {
		scheme, host = s.Public.Scheme, s.Public.Host
	}
	return [...]stamp{
		{CorrelationHeader, s.Identity.Correlation, true},
		{RoutingHeader, s.Identity.Routing, true},
		{ClientRequestHeader, s.Identity.Client, false},
		{"X-Ms-Client-Tenant-Id", s.TenantID, false},
		{"X-Ms-Home-Tenant-Id", s.TenantID, false},
		{"X-Ms-Client-Object-Id", s.ObjectID, false},
		{"X-Ms-Client-Principal-Id", s.ObjectID, false},
		{"X-Ms-Client-Principal-Name", s.PrincipalName, false},
		{"X-Ms-Client-App-Id", s.AppID, false},
		{"X-Ms-Client-Issuer", s.Issuer, false},
		{"X-Ms-Client-Authorization-Source", s.AuthorizationSource, false},
		{"Referer", s.Referer, false},
		{"X-Ms-Client-Ip-Address", address, true},
		{"X-Forwarded-For", forwarded, true},
		{"X-Forwarded-Proto", scheme, false},
		{"X-Forwarded-Host", host, false},
		{SystemDataHeader, s.SystemData, true},
	}
}

// Set sets the headers on a call to a provider. Strip the client's before.
func (s *Stamps) Set(h Setter) {
	for _, row := range s.rows() {
		if row.value != "" {
			h.Set(row.header, row.value)
		}
	}
}

// Varies reports whether Set sets a header to another value in each request, or for each
// client. The name is canonical.
func Varies(header string) bool {
	for _, row := range new(Stamps).rows() {
		if row.header == header {
			return row.varies
		}
	}
	return false
}
