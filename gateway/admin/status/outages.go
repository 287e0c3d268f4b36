package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"portico/gateway/admin/api"
)

// outage is the problem of all regions, endpoints and addresses that cannot be called for one
// cause: they share an address, as when one process serves several providers or regions. Its
// code is that of the widest of them.
type outage struct {
	api.Problem
	names                                 []string // of the widest, for Summary, which is a form until all are known
	endpoints, addresses, contacts, lists []string
}

// down adds an address that is down to its outage.
func (f *finding) down(r api.Region, e api.Endpoint, a api.Address) {
	endpoint := e.Namespace + " in " + r.Name
	p, name := api.Problem{Code: api.AddressDown, Subject: a.URL, Summary: "The address %s is not used."}, a.URL
	switch {
	case r.State == api.Down:
		p, name = api.Problem{Code: api.RegionDown, Subject: r.Name, Summary: "No endpoint in %s can be reached: all calls there are refused."}, r.Name
	case e.State == api.Down:
		p, name = api.Problem{Code: api.EndpointDown, Subject: r.Name, Summary: "No address of %s can be reached: all calls there are refused."}, endpoint
	case a.Circuit != "closed":
		p.Code, p.Summary = api.CircuitOpen, "Connections to %s fail."
	}
	o := cmp.Or(f.outages[name], f.outages[a.URL])
	if o == nil {
		o = &outage{Problem: p}
		f.found = append(f.found, o)
	}
	f.outages[a.URL], f.outages[name] = o, o
	if p.Subject == r.Name {
		f.outages[r.Name] = cmp.Or(f.outages[r.Name], o)
		o.lists = append(o.lists, e.FailingLists...)
	}
	if f.kinds[p.Code].rank < f.kinds[o.Code].rank {
		o.Code, o.Subject, o.Summary, o.names = p.Code, p.Subject, p.Summary, nil
	}
	if p.Code == o.Code {
		o.names = append(o.names, name)
	}
	o.endpoints, o.contacts = append(o.endpoints, endpoint), append(o.contacts, e.Contact)
	o.addresses = append(o.addresses, a.URL+" ("+strings.TrimSuffix(a.Reason, ".")+")")
	if a.Since != nil && (o.Since == nil || a.Since.After(*o.Since)) {
		o.Since = a.Since // when the last went out of use
	}
}

// addOutages adds the problems of what is down.
func (f *finding) addOutages() {
	for _, o := range f.found {
		o.Summary = phrase(o.Summary, o.names)
		o.Detail = phrase("%s: ", o.endpoints) + phrase("%s.", o.addresses) + phrase(" "+listsFail, o.lists)
		o.Advice = phrase("ask %s, or ", o.contacts) + "start it; if it is out for maintenance: portico regions drain " +
			o.Subject + " --reason REASON --until TIME"
		f.add(o.Problem)
	}
}

const listsFail = "Lists of %s that include it fail; with onRegionFailure: partial they would leave it out."

// phrase puts names, in any order and repeated, into a form; it is "" without names.
func phrase(form string, names []string) string {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(form, nameList(names, "of them", "of them"))
}
