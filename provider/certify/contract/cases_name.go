package contract

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// nameCases check checkNameAvailability, SKUs and the list of operations.
func nameCases() []Case {
	return []Case{
		{
			ID: "name/free-taken-or-invalid", Profile: Core, Section: nameCheck, On: isFirst,
			Rule:    "nameAvailable is true if the name is free; if not, reason is AlreadyExists or Invalid, with a message",
			Through: "a call without a location covers all regions of the type",
			Run: func(s *Scene) {
				if len(s.Type.provider.CheckName) == 0 {
					s.leaveUndescribed("checkNameAvailability")
				}
				s.created()
				for _, scope := range s.Type.provider.CheckName {
					path := "/subscriptions/" + s.Adapter.Subscription + "/providers/" + s.Type.provider.Namespace
					if scope == "location" {
						path += "/locations/" + s.locationFor(s.Type)
						if s.Type.global() {
							continue
						}
					}
					path += "/checkNameAvailability"
					ask := func(name string) *Answer {
						body := Object{"name": name, "type": s.Type.FullName()}
						return s.post(path, body, inPlaceOf(s.Type, s)).status(200)
					}
					ask(sibling(s.id, "free"+uuid.NewString()[:8])[len(collection(s.id))+1:]).shows(Object{"nameAvailable": true})
					ask(nameOf(s.id)).shows(Object{"nameAvailable": false, "reason": "AlreadyExists"}).hasText("message")
					ask("not/a?name").shows(Object{"nameAvailable": false, "reason": "Invalid"}).hasText("message")
				}
			},
		},
		{
			ID: "skus/of-a-resource", Profile: SKUs, Section: skus, On: func(t *Type) bool { return t.Contract.HasSKUs },
			Rule: "200 with resourceType, sku.name and, if it scales, capacity, for each SKU that the resource can change to",
			Run: func(s *Scene) {
				s.created(s.Type.Contract.Kept)
				a := s.get(s.id + "/skus").status(200)
				s.check(len(values(a)) > 0, "there are SKUs", "%s", a)
				for _, item := range values(a) {
					checkSKU(s, item)
				}
			},
		},
		{
			ID: "skus/where-none-is-valid", Profile: SKUs, Section: skus, On: func(t *Type) bool { return t.Contract.SKUs && !t.Contract.HasSKUs },
			Rule: "if no SKUs are valid, 200 and an empty array",
			Run: func(s *Scene) {
				s.created()
				s.get(s.id + "/skus").status(200).emptyList()
			},
		},
		{
			ID: "skus/of-what-is-not-there", Profile: SKUs, Section: skus, On: func(t *Type) bool { return t.Contract.SKUs },
			Rule: "if the resource does not exist, 404 is returned",
			Run:  func(s *Scene) { s.get(sibling(s.id, "absent") + "/skus").refused(404) },
		},
		{
			ID: "operations/list", Profile: Core, Section: operationsList, On: isFirst, Once: true,
			Rule: "GET /providers/{namespace}/operations, if it is served, lists the operations, each with a name and display texts",
			Run: func(s *Scene) {
				for _, p := range s.Description.Providers {
					a := s.get("/providers/"+p.Namespace+"/operations", withVersion(p.ResourceTypes[0].version()))
					if a.Status >= 400 && a.Status < 500 {
						s.leaveOut("the provider does not list its operations")
					}
					a.status(200)
					s.check(len(values(a)) > 0, "there are operations", "%s", a)
					for _, item := range values(a) {
						name := text(item, "name")
						s.check(strings.HasPrefix(strings.ToLower(name), strings.ToLower(p.Namespace)+"/"), "operation names begin with the namespace", "%q", name)
						for _, member := range []string{"provider", "resource", "operation", "description"} {
							s.check(text(item, "display."+member) != "", name+" has display."+member, "%s", show(item))
						}
					}
				}
			},
		},
	}
}

// inPlaceOf sends the call to the endpoint that serves the type.
func inPlaceOf(t *Type, s *Scene) option {
	return func(c *call) { c.region = s.locationFor(t) }
}

// hasText expects a text at the path.
func (a *Answer) hasText(path string) *Answer {
	a.check(text(a.doc, path) != "", a.call.String()+" has a text "+path, "%s", a)
	return a
}

func checkSKU(s *Scene, item any) {
	s.check(text(item, "resourceType") != "", "each element has a resourceType", "%s", show(item))
	s.check(text(item, "sku.name") != "", "each element has a sku.name", "%s", show(item))
	capacity, there := lookup(item, "capacity")
	if !there || capacity == nil {
		return
	}
	scale := strings.ToLower(text(capacity, "scaleType"))
	s.check(slices.Contains([]string{"none", "manual", "automatic"}, scale), "capacity.scaleType is none, manual or automatic", "%s", show(item))
	if scale == "none" {
		return
	}
	least, _ := lookup(capacity, "minimum")
	most, _ := lookup(capacity, "maximum")
	usual, _ := lookup(capacity, "default")
	low, okLow := least.(float64)
	high, okHigh := most.(float64)
	middle, okMiddle := usual.(float64)
	s.check(okLow && okHigh && okMiddle && low <= middle && middle <= high, "minimum, default and maximum are integers in this order", "%s", show(item))
}
