package status

import (
	"fmt"
	"strings"
	"time"

	"portico/gateway/admin/api"
)

const (
	// lately is how long an event counts as a problem that goes on.
	lately = 5 * time.Minute
	// certificateNotice is how long before its end a certificate is reported.
	certificateNotice = 14 * 24 * time.Hour
)

// regions finds problems of regions, their endpoints and addresses.
func (f *finding) regions(all []api.Region) {
	now, seen := time.Now(), map[string]bool{} // several endpoints may have an address
	for _, r := range all {
		if r.State == api.Down {
			f.add(api.Problem{Code: api.RegionDown, Subject: r.Name, Since: downSince(r.Endpoints),
				Summary: fmt.Sprintf("No endpoint in %s can be reached: all calls there are refused.", r.Name)})
		}
		for _, e := range r.Endpoints {
			if e.State == api.Down && r.State != api.Down {
				f.add(api.Problem{Code: api.EndpointDown, Subject: r.Name, Since: downSince([]api.Endpoint{e}),
					Summary: fmt.Sprintf("No address of %s in %s can be reached: all calls there are refused.", e.Namespace, r.Name)})
			}
			if e.LastShed != nil && now.Sub(*e.LastShed) < lately {
				f.add(api.Problem{Code: api.ProviderSheds, Subject: r.Name, Since: e.LastShed, Count: int(min(e.Shed, 1<<31)),
					Summary: fmt.Sprintf("%s in %s gets more calls than it can answer: some were refused.", e.Namespace, r.Name)})
			}
			for _, a := range e.Addresses {
				if key := r.Name + " " + a.URL; !seen[key] {
					seen[key] = true
					f.address(r.Name, a, now)
				}
			}
		}
	}
}

// downSince returns when the last of the addresses went out of use.
func downSince(endpoints []api.Endpoint) (last *time.Time) {
	for _, e := range endpoints {
		for _, a := range e.Addresses {
			if a.Since != nil && (last == nil || a.Since.After(*last)) {
				last = a.Since
			}
		}
	}
	return last
}

func (f *finding) address(region string, a api.Address, now time.Time) {
	switch {
	case a.State != api.Down:
	case a.Circuit != "closed":
		f.add(api.Problem{Code: api.CircuitOpen, Subject: a.URL, Since: a.Since,
			Summary: fmt.Sprintf("Connections to an address in %s fail: %s.", region, strings.TrimSuffix(a.Reason, "."))})
	default:
		f.add(api.Problem{Code: api.AddressDown, Subject: a.URL, Since: a.Since,
			Summary: fmt.Sprintf("An address in %s is not used: %s.", region, strings.TrimSuffix(a.Reason, "."))})
	}
	if a.LastDistrust != nil && now.Sub(*a.LastDistrust) < lately {
		f.add(api.Problem{Code: api.Untrusted, Subject: a.URL, Since: a.LastDistrust,
			Summary: fmt.Sprintf("Calls to an address in %s fail: %s.", region, distrustText(a.Distrust))})
	}
	if a.CertificateEnds != nil {
		f.certificate(a.URL, "of an address in "+region, *a.CertificateEnds, now)
	}
}

// distrustText describes a kind of TLS failure, as named by [upstream.ErrorKind].
func distrustText(kind string) string {
	switch kind {
	case "untrusted":
		return "the provider does not trust Portico's certificate or credential"
	case "tls_authority":
		return "the provider's certificate is not from a trusted authority"
	case "tls_host":
		return "the provider's certificate is for another host"
	case "tls_expired":
		return "the provider's certificate is not valid now"
	}
	return "TLS fails"
}

func (f *finding) certificate(subject, whose string, ends, now time.Time) {
	at := since(ends)
	switch left := ends.Sub(now); {
	case left <= 0:
		f.add(api.Problem{Code: api.CertificateEnded, Subject: subject, Since: at, Summary: fmt.Sprintf("The certificate %s has expired.", whose)})
	case left < certificateNotice:
		f.add(api.Problem{Code: api.CertificateEnds, Subject: subject,
			Summary: fmt.Sprintf("The certificate %s expires at %s.", whose, at.Format(time.RFC3339))})
	}
}
