package groups

import (
	"testing"

	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
	"portico/test/bodycost"
)

func TestReadingABodyCostsLittle(t *testing.T) {
	const subscription = "00000000-0000-0000-0000-000000000001"
	q, fault := routing.Classify(regions.New(regions.Declaration{}), "PUT", "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g", "api-version=2021-04-01")
	if fault != nil {
		t.Fatal(fault)
	}
	inGroup := &exchange.Exchange{Request: q}
	moves := Moves{Router: &routing.Router{Map: regions.New(regions.Declaration{})}}
	bodycost.Check(t, []bodycost.Reader{
		{
			Name: "move",
			Read: func(content []byte) error {
				m := &moveCheck{Moves: moves}
				m.source.Subscription.ID, m.source.Group.Name = subscription, "g"
				return bodycost.ErrorOf(m.readRequest(content))
			},
			Templates: []string{`%`, `{"targetResourceGroup":"a","resources":%}`, `{"targetResourceGroup":%,"resources":["a"]}`, `{"unknown":%}`,
				`{"targetResourceGroup":"` + "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/to" + `","resources":[%]}`},
			Objects: []string{`{%}`},
			Members: []string{"targetResourceGroup", "resources", "RESOURCES", "unknown"},
		},
		{
			Name:      "group",
			Read:      func(content []byte) error { _, err := readGroup(inGroup, content, 50); return err },
			Templates: []string{`%`, `{"location":%}`, `{"location":"a","tags":%}`, `{"location":"a","managedBy":%}`, `{"properties":%}`, `{"name":%}`, `{"unknown":%}`, `{"properties":{"provisioningState":%}}`},
			Objects:   []string{`{%}`, `{"tags":{%}}`, `{"properties":{%}}`},
			Members:   []string{"name", "managedBy", "ManagedBy", "properties", "provisioningState", "unknown"},
		},
	})
}
