package config

import (
	"fmt"
	"net/url"
	"strings"

	"portico/arm"
	"portico/regions"
)

// readAddresses reads endpoints and endpointTemplate, of a provider or a type.
func (b *mapReader) readAddresses(o object, namespace string) regions.Addresses {
	a := regions.Addresses{Endpoints: make(map[string][]*url.URL)}
	b.r.notes.addresses(join(o.path, "endpoints"), addressForm)
	endpoints := o.get("endpoints")
	if endpoints != nil && endpoints.kind != mapping {
		b.r.fault(endpoints, fmt.Sprintf("endpoints is %s, not a mapping", endpoints.kind), "{westus: [https://host], global: [https://host]}")
		endpoints = nil
	}
	if endpoints != nil {
		twice := b.r.distinct("endpoints for region")
		for _, e := range endpoints.entries {
			region := arm.Location(e.key.text)
			if region != arm.GlobalLocation && !checkRegion(b.r, e.key, "endpoints:", region, b.m) {
				b.readURLs(e)
				continue
			}
			if twice.add(e.key, region, region) {
				a.Endpoints[region] = b.readURLs(e)
			}
		}
	}
	a.Template = b.readTemplate(o, namespace)
	return a
}

// readURLs reads the addresses of one endpoint. It returns at least one, so
// that a wrong address is not also reported as an endpoint that is missing.
func (b *mapReader) readURLs(e entry) []*url.URL {
	path := "endpoint " + quote(e.key.text)
	placeholder := []*url.URL{{Scheme: "https", Host: "invalid"}}
	if e.value.kind != list || len(e.value.items) == 0 {
		b.r.fault(e.key, path+" is not a list of addresses", "a list of "+addressForm)
		return placeholder
	}
	twice := b.r.distinct("address")
	var urls []*url.URL
	for _, n := range e.value.items {
		if n.kind != scalar {
			b.r.fault(n, fmt.Sprintf("an address of %s is %s", path, n.kind), addressForm)
			continue
		}
		u, wrong := address(n.text)
		if wrong != "" {
			b.r.fault(n, badAddress(path+":", n.text, wrong), addressForm)
		} else if twice.add(n, u.String(), u.String()) {
			urls = append(urls, u)
		}
	}
	if len(urls) == 0 {
		return placeholder
	}
	return urls
}

// readTemplate reads an endpointTemplate and tries it on every region.
func (b *mapReader) readTemplate(o object, namespace string) string {
	var template string
	allowed := "an address with " + choice(regions.Placeholders()) + ", such as https://{region}.{namespace}.example.com"
	text := plainText()
	text.shape = addressShape(templatePattern, "")
	n := set(o, "endpointTemplate", &template, text)
	if n == nil {
		return ""
	}
	rest := regions.Expand(template, "", "", "")
	if i := strings.IndexAny(rest, "{}"); i >= 0 && !strings.Contains(template, "@") {
		word := rest[i:]
		if end := strings.IndexByte(word, '}'); end >= 0 {
			word = word[:end+1]
		}
		b.r.fault(n, "endpointTemplate holds "+quote(word)+", which is no placeholder", allowed)
		return ""
	}
	for _, region := range b.m.Regions() {
		if _, wrong := address(regions.Expand(template, region.Name, "x", namespace)); wrong != "" {
			b.r.fault(n, badAddress("endpointTemplate", template, wrong), allowed)
			return ""
		}
	}
	if !strings.Contains(template, "{region}") {
		b.r.warn(n, "endpointTemplate has no {region}: all regions share one address", allowed)
	}
	return canonicalTemplate(template)
}

// canonicalTemplate gives a template the form that address gives its result.
func canonicalTemplate(template string) string {
	template = strings.ToLower(template)
	for scheme, port := range map[string]string{"https://": ":443", "http://": ":80"} {
		if strings.HasPrefix(template, scheme) {
			return strings.TrimSuffix(template, port)
		}
	}
	return template
}
