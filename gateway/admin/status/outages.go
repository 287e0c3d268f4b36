package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"portico/gateway/admin/api"
)

// outage is the problem of all regions, endpoints and addresses that cannot be called for one
// cause: they share an address, as when one process serves several providers or regions.
type outage struct {
	api.Problem
	names                []string // of the regions, endpoints or addresses that its code is about
	endpoints, addresses []string
}

// part is what an address that is down makes unusable.
type part struct {
	code, name, subject, endpoint string
	address                       api.Address
}

func (f *finding) outages(all []api.Region) {
	var parts []part
	for _, r := range all {
		for _, e := range r.Endpoints {
			for _, a := range e.Addresses {
				if a.State == api.Down && !untrusted(a) {
					parts = append(parts, partOf(r, e, a))
				}
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(f.kinds[a.code].rank, f.kinds[b.code].rank) })
	var found []*outage
	of := map[string]*outage{} // by the names of parts, and by address
	for _, p := range parts {
		o := cmp.Or(of[p.address.URL], of[p.name])
		if o == nil {
			o = &outage{Problem: api.Problem{Code: p.code, Subject: p.subject}}
			found = append(found, o)
		}
		of[p.address.URL], of[p.name] = o, o
		o.add(p)
		if p.subject != p.address.URL && f.causes[p.subject] == nil {
			f.causes[p.subject] = o
		}
	}
	for _, o := range found {
		o.describe()
		f.add(o.Problem)
	}
}

// partOf returns the widest part that cannot be called because of an address.
func partOf(r api.Region, e api.Endpoint, a api.Address) part {
	endpoint := e.Namespace + " in " + r.Name
	switch {
	case r.State == api.Down:
		return part{api.RegionDown, r.Name, r.Name, endpoint, a}
	case e.State == api.Down:
		return part{api.EndpointDown, endpoint, r.Name, endpoint, a}
	case a.Circuit != "closed":
		return part{api.CircuitOpen, a.URL, a.URL, endpoint, a}
	}
	return part{api.AddressDown, a.URL, a.URL, endpoint, a}
}

func (o *outage) add(p part) {
	reason := strings.TrimSuffix(p.address.Reason, ".")
	if distrusted(p.address) {
		reason = distrustText(p.address.Distrust)
	}
	if o.endpoints, o.addresses = append(o.endpoints, p.endpoint), append(o.addresses, p.address.URL+" ("+reason+")"); p.code == o.Code {
		o.names = append(o.names, p.name)
	}
	if at := p.address.Since; at != nil && (o.Since == nil || at.After(*o.Since)) {
		o.Since = at // when the last went out of use
	}
}

func (o *outage) describe() {
	form := map[string]string{
		api.RegionDown: "No endpoint in %s can be reached: all calls there are refused.", api.EndpointDown: "No address of %s can be reached: all calls there are refused.",
		api.CircuitOpen: "Connections to %s fail.", api.AddressDown: "The address %s is not used.",
	}[o.Code]
	o.Summary = fmt.Sprintf(form, nameSet(o.names))
	o.Detail = nameSet(o.endpoints) + ": " + nameSet(o.addresses) + "."
	o.Advice = fmt.Sprintf("start it, or if it is out for maintenance: portico regions drain %s --reason REASON --until TIME", o.Subject)
}

// nameSet is like [nameList], for names in any order that may repeat.
func nameSet(names []string) string {
	slices.Sort(names)
	return nameList(slices.Compact(names), "of them", "of them")
}
