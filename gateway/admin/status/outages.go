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
	parts []part // the widest first
}

// part is a region or an endpoint that cannot be called, by one of its addresses, or an
// address alone.
type part struct {
	code, name, subject string
	region              string
	endpoint            api.Endpoint
	address             api.Address
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
		of[p.address.URL], of[p.name], o.parts = o, o, append(o.parts, p)
		if p.subject != p.address.URL && f.causes[p.region] == nil {
			f.causes[p.region] = o
		}
	}
	for _, o := range found {
		o.describe()
		f.add(o.Problem)
	}
}

// partOf returns the widest part that cannot be called because of an address.
func partOf(r api.Region, e api.Endpoint, a api.Address) part {
	p := part{api.AddressDown, a.URL, a.URL, r.Name, e, a}
	switch {
	case r.State == api.Down:
		p.code, p.name, p.subject = api.RegionDown, r.Name, r.Name
	case e.State == api.Down:
		p.code, p.name, p.subject = api.EndpointDown, e.Namespace+" in "+r.Name, r.Name
	case a.Circuit != "closed":
		p.code = api.CircuitOpen
	}
	return p
}

func (o *outage) describe() {
	var names, endpoints, addresses, asked []string
	for _, p := range o.parts {
		if p.code == o.Code {
			names = append(names, p.name)
		}
		reason := strings.TrimSuffix(p.address.Reason, ".")
		if distrusted(p.address) {
			reason = distrustText(p.address.Distrust)
		}
		endpoints, addresses, asked = append(endpoints, p.endpoint.Namespace+" in "+p.region), append(addresses, p.address.URL+" ("+reason+")"), append(asked, p.endpoint.Contact)
		if at := p.address.Since; at != nil && (o.Since == nil || at.After(*o.Since)) {
			o.Since = at // when the last went out of use
		}
	}
	o.Summary = fmt.Sprintf(map[string]string{
		api.RegionDown: "No endpoint in %s can be reached: all calls there are refused.", api.EndpointDown: "No address of %s can be reached: all calls there are refused.",
		api.CircuitOpen: "Connections to %s fail.", api.AddressDown: "The address %s is not used.",
	}[o.Code], nameSet(names))
	o.Detail = nameSet(endpoints) + ": " + nameSet(addresses) + "."
	o.Advice = strings.TrimPrefix(ask(asked...)+", or ", ", or ") + "start it; if it is out for maintenance: portico regions drain " + o.Subject + " --reason REASON --until TIME"
}

// ask is the advice to ask the people who run a provider; "" if no contact is known.
func ask(contacts ...string) string {
	if contacts = slices.DeleteFunc(contacts, func(c string) bool { return c == "" }); len(contacts) == 0 {
		return ""
	}
	return "ask " + nameSet(contacts)
}

// nameSet is like [nameList], for names in any order that may repeat.
func nameSet(names []string) string {
	slices.Sort(names)
	return nameList(slices.Compact(names), "of them", "of them")
}
