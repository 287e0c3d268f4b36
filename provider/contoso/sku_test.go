package contoso

import (
	"fmt"
	"strings"
	"testing"
)

// skuNames gives the names of SKUs that a resource can change to.
func (s *site) skuNames(id string) string {
	s.t.Helper()
	a := s.get(id + "/skus" + version)
	list, ok := a.at("value").([]any)
	if !ok {
		s.t.Fatalf("no list: %s", a.body)
	}
	var names []string
	for _, item := range list {
		entry := item.(map[string]any)
		capacity := entry["capacity"].(map[string]any)
		for _, key := range []string{"minimum", "maximum", "default", "scaleType"} {
			if capacity[key] == nil {
				s.t.Errorf("a capacity without %s: %s", key, a.body)
			}
		}
		if entry["resourceType"] != "Contoso.Compute/virtualMachines" {
			s.t.Errorf("resourceType %v", entry["resourceType"])
		}
		names = append(names, fmt.Sprint(entry["sku"].(map[string]any)["name"]))
	}
	return strings.Join(names, " ")
}

func TestSkusOfAnExistingResource(t *testing.T) {
	s := newSite(t, "westus")
	s.refused(404, "ResourceNotFound", "GET", vm+"/skus"+version, "")
	s.do(201, "PUT", vm+version, westVM)
	for _, c := range [][2]string{{"", "F0 S1 P3 D1 D2"}, {"S1", "F0 P3"}, {"F0", "S1 P3"}, {"p3", "F0 S1"}} {
		if c[0] != "" {
			s.do(200, "PATCH", vm+version, `{"sku":{"name":"`+c[0]+`"}}`)
		}
		if got := s.skuNames(vm); got != c[1] {
			t.Errorf("from %q to %q, want %q", c[0], got, c[1])
		}
	}
	s.refused(400, "SkuChangeNotAllowed", "PATCH", vm+version, `{"sku":{"name":"D1"}}`)
	s.refused(400, "SkuChangeNotAllowed", "PUT", vm+version, `{"location":"westus","sku":{"name":"D1"}}`)
	s.do(201, "PUT", compute+"/networkInterfaces/n"+version, westVM)
	s.get(compute+"/networkInterfaces/n/skus"+version).want([]any{}, "value")
	s.refused(404, "InvalidResourceType", "GET", compute+"/nothings/n/skus"+version, "")
}

func TestSkusAreJudged(t *testing.T) {
	s := newSite(t, "westus")
	for body, code := range map[string]string{
		`{"name":"Z9"}`:                 "InvalidSku",
		`{"name":"S1","tier":"Free"}`:   "InvalidSku",
		`{"name":"S1","capacity":11}`:   "InvalidSkuCapacity",
		`{"name":"S1","capacity":0}`:    "InvalidSkuCapacity",
		`{"name":"S1","capacity":1.5}`:  "InvalidRequestContent",
		`{"name":"S1","capacity":"1"}`:  "InvalidRequestContent",
		`{"name":"S1","tier":1}`:        "InvalidRequestContent",
		`{"tier":"Standard"}`:           "InvalidRequestContent",
		`{"name":7}`:                    "InvalidRequestContent",
		`"S1"`:                          "InvalidRequestContent",
		`{"name":"F0","name":"S1"}`:     "InvalidRequestContent",
		`{"name":"F0","capacity":-999}`: "InvalidSkuCapacity",
	} {
		s.refused(400, code, "PUT", vm+version, `{"location":"westus","sku":`+body+`}`)
	}
	// A type without a catalogue of SKUs takes any of the right form.
	s.do(201, "PUT", compute+"/networkInterfaces/n"+version, `{"location":"westus","sku":{"name":"Z9","capacity":11}}`).want("Z9", "sku", "name")
}

func TestSkuPatches(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, `{"location":"westus","kind":"k","tags":{"a":"1"},"sku":{"name":"S1","tier":"Standard","capacity":2},"properties":{"a":1}}`)
	for _, c := range []struct {
		patch string
		want  map[string]any
	}{
		{`{"capacity":3}`, map[string]any{"name": "S1", "tier": "Standard", "capacity": 3}},
		{`{"name":"s1","capacity":null}`, map[string]any{"name": "s1", "tier": "Standard"}},
		{`{"name":"F0","capacity":1}`, map[string]any{"name": "F0", "capacity": 1}},
	} {
		a := s.do(200, "PATCH", vm+version, `{"sku":`+c.patch+`}`)
		a.want(c.want, "sku")
		a.want("k", "kind")
		a.want(map[string]string{"a": "1"}, "tags")
		a.want(1, "properties", "a")
	}
	s.do(200, "PATCH", vm+version, `{"sku":null}`).want(nil, "sku")
}
