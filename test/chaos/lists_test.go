package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// lists compares what each replica lists, of all types and of each, with what
// the providers hold: the ids, and the tags that the index shows with those that the
// providers do; no group of that may be missing. Nothing may be under way.
func (s *site) lists(t *testing.T) {
	t.Helper()
	var held []string
	for _, c := range s.regions {
		held = append(held, c.IDs(t)...)
	}
	for replica := range s.gateways {
		index := s.compare(t, replica, "/resources"+groupVersion, held)
		for _, typ := range types {
			for id, tags := range s.compare(t, replica, "/providers/"+typ+version, ofType(typ, held)) {
				if index[id] != tags {
					t.Errorf("replica %d shows %s with %s, but its provider has %s", replica, id, index[id], tags)
				}
			}
		}
		s.compareGroups(t, replica, held)
	}
}

// compareGroups reads the list of groups: those of what the providers hold must
// be in it, and none may be on its way out.
func (s *site) compareGroups(t *testing.T, replica int, held []string) {
	t.Helper()
	path := "/subscriptions/" + harness.SubscriptionID + "/resourceGroups" + groupVersion
	var listed []string
	for _, g := range s.gateways[replica].Do(t, harness.Request{Path: path}).Want(t, 200).Values(t) {
		listed = append(listed, strings.ToLower(fmt.Sprint(g["id"])))
		if state := g["properties"].(map[string]any)["provisioningState"]; state != "Succeeded" {
			t.Errorf("replica %d lists %s as %v", replica, g["id"], state)
		}
	}
	for _, id := range held {
		group, _, _ := strings.Cut(strings.ToLower(id), "/providers/")
		if !slices.Contains(listed, group) {
			t.Errorf("replica %d says that the group has gone, but there is %s", replica, id)
		}
	}
}

// compare reads a list of the subscription and compares it with the ids that
// should be in it. It returns the tags of each.
func (s *site) compare(t *testing.T, replica int, path string, want []string) map[string]string {
	t.Helper()
	tags := map[string]string{}
	a := s.gateways[replica].Do(t, harness.Request{Path: "/subscriptions/" + harness.SubscriptionID + path}).Want(t, 200)
	var got []string
	for _, element := range a.Values(t) {
		id := fmt.Sprint(element["id"])
		got = append(got, id)
		tags[id] = fmt.Sprint(element["tags"])
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("replica %d lists at %s\n%q, but there is\n%q", replica, path, got, want)
	}
	if next := a.JSON(t)["nextLink"]; next != nil {
		t.Errorf("replica %d ends its list at %s early: %v", replica, path, next)
	}
	return tags
}

// ofType selects the ids of resources of a type.
func ofType(typ string, ids []string) []string {
	var some []string
	for _, id := range ids {
		for _, r := range allResources() {
			if r.typ == typ && r.is(id) {
				some = append(some, id)
			}
		}
	}
	return some
}
