package frontdoor

import (
	"strings"
	"testing"

	"portico/config"
	"portico/gateway/admission"
	"portico/gateway/batch"
	"portico/gateway/frontdoor/deployments"
	"portico/gateway/preflight"
)

// Each route says which action it needs, or why it needs none.
func TestEveryRouteNamesItsAction(t *testing.T) {
	defaults := config.Defaults()
	o := Options{Config: &defaults, Resolver: &admission.Resolver{}, Batches: batch.New(batch.Options{}), Preflight: preflight.New(preflight.Options{}), Rehearsals: deployments.Rehearsals{}, Deployments: deployments.Deployments{}}
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
