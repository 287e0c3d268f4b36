package tracing

import "net/url"

// Stamps are the headers by which the front door describes a call to the provider. Clients cannot
// set them. Empty values set no header.
type Stamps struct {
	Identity Identity
	// The caller's identity.
	TenantID, ObjectID, PrincipalName, AppID, Issuer, AuthorizationSource string
	Client                                                                Client
	Public                                                                *url.URL // the front door's URL; nil: not sent
	Referer                                                               string   // the public URI of the called resource
	SystemData                                                            string   // who created and modified the resource, and when
}

type stamp struct {
	header, value string
	varies        bool // the value differs between requests or clients
}

// rows returns the headers and values of Set. It returns an array to avoid an allocation.
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

// Set sets the headers on a call to a provider. Call [Strip] first.
func (s *Stamps) Set(h Setter) {
	for _, row := range s.rows() {
		if row.value != "" {
			h.Set(row.header, row.value)
		}
	}
}

// Varies reports whether the value that Set gives a header differs between requests or clients. The
// name must be canonical.
func Varies(header string) bool {
	for _, row := range new(Stamps).rows() {
		if row.header == header {
			return row.varies
		}
	}
	return false
}
