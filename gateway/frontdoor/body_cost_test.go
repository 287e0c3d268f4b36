package frontdoor

import (
	"net/http/httptest"
	"testing"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/regions"
	"portico/routing"
	"portico/test/bodycost"
)

func TestReadingABodyCostsLittle(t *testing.T) {
	q, fault := routing.Classify(regions.New(regions.Declaration{}), "PUT", "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.Authorization/locks/l", "api-version=2021-04-01")
	if fault != nil {
		t.Fatal(fault)
	}
	locked := &exchange.Exchange{Request: q}
	bodycost.Check(t, []bodycost.Reader{
		{
			Name: "lock",
			Read: func(content []byte) error {
				_, err := readLock(locked, content, "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g")
				return err
			},
			Templates: []string{`%`, `{"properties":%}`, `{"properties":{"level":%}}`, `{"properties":{"level":"ReadOnly","notes":%}}`, `{"properties":{"level":"ReadOnly","owners":%}}`, `{"name":%}`},
			Objects:   []string{`{%}`, `{"properties":{%}}`},
			Members:   []string{"properties", "level", "notes", "owners", "id", "unknown"},
		},
		{
			Name: "name check",
			Read: func(content []byte) error {
				return resourceNames{}.check(httptest.NewRecorder(), nil, locked, route.Request{Content: content})
			},
			Templates: []string{`%`, `{"name":%,"type":"a"}`, `{"name":"a","type":%}`},
			Objects:   []string{`{%}`},
			Members:   []string{"name", "type", "unknown"},
		},
	})
}
