package tags

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
	"portico/test/bodycost"
)

func TestReadingABodyCostsLittle(t *testing.T) {
	q, fault := routing.Classify(regions.New(regions.Declaration{}), "PUT", "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g", "api-version=2021-04-01")
	if fault != nil {
		t.Fatal(fault)
	}
	inGroup := &exchange.Exchange{Request: q}
	tagged := httptest.NewRequest(http.MethodPut, "/", nil)
	bodycost.Check(t, []bodycost.Reader{
		{
			Name: "tags",
			Read: func(content []byte) error {
				e := Tags{Limit: 50}.readEdit(tagged, inGroup, content, "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g")
				_, err := e.apply("/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g", nil)
				return err
			},
			Templates: []string{`%`, `{"properties":%}`, `{"properties":{"tags":%}}`, `{"properties":{"tags":{"a":%}}}`, `{"operation":%,"properties":{}}`, `{"id":%,"properties":{}}`},
			Objects:   []string{`{%}`, `{"properties":{%}}`, `{"properties":{"tags":{%}}}`},
			Members:   []string{"properties", "tags", "id", "operation", "unknown"},
		},
	})
}
