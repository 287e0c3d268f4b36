package status

import (
	"cmp"
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
		if f.drained(api.RegionDrained, r.Name, r.State, r.Drain) {
			continue
		}
		for _, e := range r.Endpoints {
			if e.LastShed != nil && now.Sub(*e.LastShed) < lately {
				f.add(api.Problem{Code: api.ProviderSheds, Subject: r.Name, Since: e.LastShed, Count: int(min(e.Shed, 1<<31)), Advice: ask(e),
					Summary: fmt.Sprintf("%s in %s gets more calls than it can answer: some were refused.", e.Namespace, r.Name)})
			}
			if len(e.FailingLists) > 0 && e.State != api.Down {
				f.add(api.Problem{Code: api.ListsFail, Subject: r.Name, Advice: ask(e), Detail: phrase(listsFail, e.FailingLists),
					Summary: fmt.Sprintf("%s in %s answers lists with errors or too late.", e.Namespace, r.Name)})
			}
			for _, a := range e.Addresses {
				if a.State == api.Down && a.Drain == nil && !untrusted(a) {
					f.down(r, e, a)
				}
				if key := r.Name + " " + a.URL; !seen[key] {
					seen[key] = true
					f.address(r.Name, e, a, now)
				}
			}
		}
	}
	f.addOutages()
}

// drained reports a drain, in place of all other problems there, and whether there is one.
func (f *finding) drained(code, place, state string, d *api.Drain) bool {
	if d != nil {
		text := fmt.Sprintf("%s is out for maintenance until %s, ordered by %s: %s. It is %s.", place, d.Until.Format(time.RFC3339),
			cmp.Or(d.By, "an operator"), strings.TrimSuffix(d.Reason, "."), state)
		f.add(api.Problem{Code: code, Subject: place, Since: &d.Since, Summary: text})
	}
	return d != nil
}

func (f *finding) address(region string, e api.Endpoint, a api.Address, now time.Time) {
	if f.drained(api.AddressDrained, a.URL, a.State, a.Drain) {
		return
	}
	if untrusted(a) {
		f.add(api.Problem{Code: api.Untrusted, Subject: a.URL, Since: a.LastDistrust, Advice: ask(e),
			Summary: fmt.Sprintf("Calls to an address in %s fail: %s.", region, distrustText(a.Distrust))})
	}
	if a.CertificateEnds != nil {
		f.certificate(a.URL, "of an address in "+region, *a.CertificateEnds, now)
	}
}

func ask(e api.Endpoint) string { return phrase("ask %s", []string{e.Contact}) }

// untrusted reports whether calls of an address fail for lack of trust. If its circuit is
// open, none are made: that is an outage.
func untrusted(a api.Address) bool {
	return a.LastDistrust != nil && time.Since(*a.LastDistrust) < lately && a.Circuit == "closed"
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
