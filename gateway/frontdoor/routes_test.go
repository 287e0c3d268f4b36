package frontdoor

import (
	"slices"
	"strings"
	"testing"

	"portico/arm"
	"portico/config"
	"portico/gateway/admission"
	"portico/gateway/batch"
	"portico/gateway/frontdoor/deployments"
	"portico/gateway/preflight"
	"portico/inventory"
)

func testOptions() Options {
	defaults := config.Defaults()
	return Options{Config: &defaults, Store: &inventory.Store{}, Resolver: &admission.Resolver{}, Batches: batch.New(batch.Options{}), Preflight: preflight.New(preflight.Options{}), WhatIf: deployments.WhatIf{}, Deployments: deployments.Deployments{}}
}

// Clients find all types of Portico's own, with api-versions that are taken: those that
// roles speak of, and those below whose namespaces there are routes.
func TestOwnTypesAreThoseOfTheRoutes(t *testing.T) {
	offered := map[string]bool{}
	for _, o := range ownTypes() {
		name := arm.Fold(o.namespace + "/" + o.name)
		if offered[name] {
			t.Errorf("%s is there twice", name)
		}
		offered[name] = true
		if len(o.versions) == 0 || !slices.Equal(o.versions, arm.NewestFirst(o.versions)) || !arm.StableAPIVersion(o.versions[0]) {
			t.Errorf("%s: %v", name, o.versions)
		}
		for _, v := range o.versions {
			if !arm.ValidAPIVersion(v) {
				t.Errorf("%s: %s", name, v)
			}
		}
	}
	for _, a := range frontDoorActions() {
		if name := a.namespace + "/" + a.typeName; !offered[arm.Fold(name)] {
			t.Errorf("the type %s of an action is not offered", name)
		}
	}
	o := testOptions()
	for _, of := range o.resources() {
		for _, r := range of.Routes() {
			_, below, found := strings.Cut(r.Path, "/providers/microsoft.")
			if !found {
				continue
			}
			names := []string{}
			for _, segment := range strings.Split(strings.TrimSuffix(below, "/"), "/")[1:] {
				if !strings.HasPrefix(segment, "{") && segment != "management" { // a name that never varies
					names = append(names, segment)
				}
			}
			namespace, _, _ := strings.Cut(below, "/")
			known := len(names) == 0 // one of several that a variable decides
			for i := range names {
				known = known || offered["microsoft."+namespace+"/"+strings.Join(names[:i+1], "/")]
			}
			if !known {
				t.Errorf("the type of the route %s is not offered", r.Path)
			}
		}
	}
}

// Each route says which action it needs, or why it needs none.
func TestEveryRouteNamesItsAction(t *testing.T) {
	o := testOptions()
	verbs := map[string][]string{
		"GET": {"/read"}, "HEAD": {"/read"}, "PUT": {"/write"}, "PATCH": {"/write"}, "DELETE": {"/delete"}, "POST": {"/action", "/write"},
	}
	listed := map[string]bool{}
	for _, a := range frontDoorActions() {
		for _, o := range a.roleOperations() {
			listed[o.Name] = true
		}
	}
	routes := 0
	for _, of := range o.resources() {
		for _, r := range of.Routes() {
			routes++
			named := 0
			for _, is := range []bool{r.Action != "", r.ActionOf != nil, r.Open != ""} {
				if is {
					named++
				}
			}
			if named != 1 {
				t.Errorf("%T %s %s: %d of Action, ActionOf and Open", of, r.Method, r.Path, named)
			}
			fits := r.Action == ""
			for _, verb := range verbs[r.Method] {
				fits = fits || strings.HasSuffix(r.Action, verb)
			}
			if !fits {
				t.Errorf("%T %s %s: %s", of, r.Method, r.Path, r.Action)
			}
			if r.Action != "" && !listed[r.Action] {
				t.Errorf("%T %s %s: the list of actions lacks %s", of, r.Method, r.Path, r.Action)
			}
			if r.Open != "" && strings.HasPrefix(r.Path, "/subscriptions/{") {
				t.Errorf("%T %s %s: nothing in a subscription is open", of, r.Method, r.Path)
			}
		}
	}
	if routes < 40 {
		t.Errorf("%d routes", routes)
	}
}
