package regionmap

import (
	"fmt"
	"net/url"
	"strings"

	"portico/arm"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// readEndpoints reads the endpoints of a provider or a type.
func (b *mapReader) readEndpoints(o *setting.Object) map[string][]*url.URL {
	all := make(map[string][]*url.URL)
	n := o.Get("endpoints")
	if n == nil {
		return all
	}
	if n.Kind != yamltree.Mapping {
		b.Fault(n, fmt.Sprintf("endpoints is %s, not a mapping", n.Kind), "{westus: [https://host], global: [https://host]}")
		return all
	}
	seen := b.Unique("endpoints for region")
	for _, e := range n.Entries {
		region := arm.Location(e.Key.Text)
		if region != arm.GlobalLocation && !CheckRegion(b.Report, e.Key, "endpoints:", region, b.m) {
			b.readURLs(e)
		} else if seen.Add(e.Key, region, region) {
			all[region] = b.readURLs(e)
		}
	}
	return all
}

// readURLs reads the addresses of an endpoint. It returns at least one, so that an invalid address
// is not also reported as a missing endpoint.
func (b *mapReader) readURLs(e yamltree.Entry) []*url.URL {
	path := "endpoint " + yamltree.Quote(e.Key.Text)
	placeholder := []*url.URL{{Scheme: "https", Host: "invalid"}}
	if e.Value.Kind != yamltree.List || len(e.Value.Items) == 0 {
		b.Fault(e.Key, path+" is not a list of addresses", "a list of "+rule.AddressForm)
		return placeholder
	}
	seen := b.Unique("address")
	var urls []*url.URL
	for _, n := range e.Value.Items {
		if n.Kind != yamltree.Scalar {
			b.Fault(n, fmt.Sprintf("an address of %s is %s", path, n.Kind), rule.AddressForm)
			continue
		}
		u, wrong := rule.ParseAddress(n.Text)
		if wrong != "" {
			b.Fault(n, rule.BadAddress(path+":", n.Text, wrong), rule.AddressForm)
		} else if seen.Add(n, u.String(), u.String()) {
			urls = append(urls, u)
		}
	}
	if len(urls) == 0 {
		return placeholder
	}
	return urls
}

// templateForm describes an endpointTemplate.
const templateForm = "an address that may contain {region}, {subservice} and {namespace}"

// checkTemplate checks an endpointTemplate with every region, and normalizes it. An invalid
// template becomes "".
func (b *mapReader) checkTemplate(o *setting.Object, template *string, namespace string) {
	n := o.Valid("endpointTemplate")
	if n == nil {
		return
	}
	allowed := "an address with " + yamltree.Choice(regions.Placeholders()) + ", such as https://{region}.{namespace}.example.com"
	written := *template
	*template = ""
	rest := regions.Expand(written, "", "", "")
	if i := strings.IndexAny(rest, "{}"); i >= 0 && !strings.Contains(written, "@") {
		word := rest[i:]
		if end := strings.IndexByte(word, '}'); end >= 0 {
			word = word[:end+1]
		}
		b.Fault(n, "endpointTemplate contains "+yamltree.Quote(word)+", which is not a placeholder", allowed)
		return
	}
	for _, region := range b.m.Regions() {
		if _, wrong := rule.ParseAddress(regions.Expand(written, region.Name, "x", namespace)); wrong != "" {
			b.Fault(n, rule.BadAddress("endpointTemplate", written, wrong), allowed)
			return
		}
	}
	if !strings.Contains(written, "{region}") {
		b.Warn(n, "endpointTemplate has no {region}: all regions share one address", allowed)
	}
	*template = canonicalTemplate(written)
}

// canonicalTemplate returns a template in lower case and without a default port.
func canonicalTemplate(template string) string {
	template = strings.ToLower(template)
	for scheme, port := range map[string]string{"https://": ":443", "http://": ":80"} {
		if strings.HasPrefix(template, scheme) {
			return strings.TrimSuffix(template, port)
		}
	}
	return template
}
