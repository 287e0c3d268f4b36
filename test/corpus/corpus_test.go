package corpus

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// Every template can be validated and rehearsed and deploys, with the outputs that it
// promises; after that there is nothing to change, and nothing changes when it is deployed
// again, also in complete mode; and it goes with its group.
func TestTemplatesAreDeployed(t *testing.T) {
	t.Parallel()
	cases, err := Cases("templates")
	harness.OK(t, err)
	s := newSite(t, cases)
	byName := map[string]*Case{}
	for i := range cases {
		byName[cases[i].Name] = &cases[i]
	}
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Shows == "" {
				t.Error("its metadata do not say what it shows")
			}
			s.begin(t, c)
			if c.Before != "" {
				before := *byName[c.Before]
				deployment{s, &before, group(harness.SubscriptionID, c.Name+".other"), "eastus"}.put(t, "Incremental")
			}
			d := deployment{s, c, group(harness.SubscriptionID, c.Name), "westus"}
			if c.Scope == "subscription" {
				d.scope = "/subscriptions/" + harness.SubscriptionID
			}
			d.deploy(t)
			s.end(t, c)
		})
	}
}

// deploy takes a case from its first rehearsal to its last deployment.
func (d deployment) deploy(t *testing.T) {
	t.Helper()
	d.Do(t, harness.Request{Method: http.MethodPost, Path: d.path("/validate"), Body: d.content(t, "Incremental")}).Want(t, 200)
	first := d.whatIf(t)
	_, from := d.since(0, http.MethodPut, d.Name)
	made := d.put(t, "Incremental")
	d.wantOutputs(t, made)
	bodies, to := d.since(from, http.MethodPut, d.Name)

	announced, unchanged := map[string]string{}, map[string]string{}
	for _, id := range d.planned(t) {
		announced[id], unchanged[id] = "Create", "NoChange"
		for end, change := range d.Changes {
			if strings.HasSuffix(id, strings.ToLower(end)) {
				announced[id] = change
			}
		}
		if endsIn(id, d.Late) {
			announced[id], unchanged[id] = "Unsupported", "Unsupported"
		}
	}
	same(t, "what-if at first", first, announced)
	same(t, "what-if after it", d.whatIf(t), unchanged)
	d.wantResources(t, made, announced, bodies)

	again := d.put(t, "Incremental")
	d.wantOutputs(t, again)
	repeated, last := d.since(to, http.MethodPut, d.Name)
	if d.Once {
		bodies = nil
	}
	same(t, "PUTs of the second deployment", repeated, bodies)
	if d.Scope == "" {
		d.wantOutputs(t, d.put(t, "Complete"))
	}
	if deleted, _ := d.since(last, http.MethodDelete, d.Name); len(deleted) > 0 {
		t.Errorf("complete mode deleted %v", slices.Sorted(maps.Keys(deleted)))
	}
}

func (d deployment) wantOutputs(t *testing.T, r record) {
	t.Helper()
	outputs := map[string]any{}
	for name, o := range r.Properties.Outputs {
		outputs[name] = o.Value
	}
	if want := d.Outputs; len(want)+len(outputs) > 0 && !reflect.DeepEqual(outputs, want) {
		t.Errorf("the outputs are %v, want %v", outputs, want)
	}
}

// wantResources compares what was announced with the record, and with what was sent.
func (d deployment) wantResources(t *testing.T, r record, announced, sent map[string]string) {
	t.Helper()
	made := r.resources()
	for _, id := range made {
		if _, known := announced[id]; !known && len(d.Late) == 0 {
			t.Errorf("%s was deployed, which portico template does not show", id)
		}
		own := strings.Contains(id, "/microsoft.authorization/") || strings.Contains(id, "/microsoft.resources/") || !strings.Contains(id, "/providers/")
		if _, put := sent[id]; put == (own || endsIn(id, d.Kept)) {
			t.Errorf("%s was sent to a provider: %t", id, put)
		}
	}
	for id := range announced {
		if !endsIn(id, d.Late) && !endsIn(id, d.Kept) && !slices.Contains(made, id) {
			t.Errorf("%s was not deployed, which portico template shows", id)
		}
	}
}
