package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/batch"
	"portico/gateway/proxy"
	"portico/inventory"
	"portico/routing"
	"portico/test/bodycost"
)

func TestReadingABodyCostsLittle(t *testing.T) {
	s := newSite(t, setup{alone: true})
	machine, fault := routing.Classify(s.config.Map, "PUT", machinePath("g", "m"), "api-version=2024-01-01")
	if fault != nil {
		t.Fatal(fault)
	}
	reader := proxy.Proxy{Config: s.config, Resolver: &admission.Resolver{Router: &routing.Router{Map: s.config.Map}}}
	const one = `{"requests":[{"httpMethod":"GET","url":"/a",%}]}`
	wrap := func(inner string) string { return strings.Replace(one, "%", inner, 1) }
	bodycost.Check(t, []bodycost.Reader{
		{
			Name: "batch",
			Read: func(content []byte) error {
				requests, fault := batch.Read(content, 500)
				for i := range requests {
					_, _ = requests[i].Target(func(string) bool { return true })
					_, _ = requests[i].Header(http.Header{})
				}
				return bodycost.ErrorOf(fault)
			},
			Templates: []string{
				`%`, `{"requests":%}`, `{"REQUESTS":%}`, `{"requests":[%]}`, `{"x":%}`, wrap(`"name":%`), wrap(`"content":%`), wrap(`"headers":%`), wrap(`"requestHeaderDictionary":%`),
				wrap(`"requestHeaderDetails":%`), wrap(`"headers":{"a":%}`), `{"requests":[{"httpMethod":%,"url":"/a"}]}`, `{"requests":[{"httpMethod":"GET","url":%}]}`,
				`{"requests":[{"httpMethod":"GET","relativeUrl":%}]}`,
			},
			Objects: []string{`{%}`, `{"requests":[{%}]}`},
			Members: []string{"requests", "Requests", "name", "httpMethod", "url", "relativeUrl", "content", "headers", "unknown"},
		},
		{
			Name: "resource",
			Read: func(content []byte) error {
				_, fault := reader.ReadContent(machine, content)
				return bodycost.ErrorOf(fault)
			},
			Templates: []string{`%`, `{"location":%}`, `{"tags":%}`, `{"tags":{"a":%}}`, `{"properties":%}`, `{"identity":%}`},
			Objects:   []string{`{%}`, `{"tags":{%}}`},
			Members:   []string{"location", "tags", "Tags", "properties", "a"},
		},
		{
			Name: "any content",
			Read: func(content []byte) error { return bodycost.ErrorOf(routing.CheckJSON(content)) },
			Templates: []string{
				`%`, `{"x":%}`,
			},
		},
		{
			Cost:      bodycost.CostOfAnswer,
			Name:      "a provider's 404",
			Read:      func(content []byte) error { arm.ReportsAbsence(content, machinePath("g", "m")); return nil },
			Templates: []string{`%`, `{"error":%}`, `{"error":{"code":%}}`, `{"error":{"code":"NotFound","message":%}}`},
			Objects:   []string{`{%}`, `{"error":{%}}`},
			Members:   []string{"error", "code", "message"},
		},
		{
			Cost:      bodycost.CostOfAnswer,
			Name:      "a provider's resource",
			Read:      func(content []byte) error { inventory.ReadObservation(content); return nil },
			Templates: []string{`%`, `{"id":%}`, `{"tags":%}`, `{"kind":%}`, `{"sku":%}`, `{"properties":%}`, `{"properties":{"provisioningState":%}}`},
			Objects:   []string{`{%}`, `{"properties":{%}}`, `{"tags":{%}}`},
			Members:   []string{"id", "tags", "kind", "sku", "properties", "provisioningState"},
		},
	})
}
