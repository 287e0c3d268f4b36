package gateway_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"portico/inventory"
)

// A read of what was read before asks no one but its provider: it is answered when
// the store is closed.
func TestWarmReadsNeedNoStore(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	s.ok(200, "POST", register, "")
	m := s.machine("g", "m", "westus")
	disk, setting := m+"/disks/d", m+"/providers/Contoso.Insight/diagnosticSettings/d"
	s.ok(201, "PUT", disk+api, `{}`)
	s.ok(201, "PUT", setting+api, `{"properties":{}}`)
	warm := []string{m, strings.ToUpper(m[:len("/subscriptions/")]) + m[len("/subscriptions/"):], disk}
	for _, path := range warm {
		s.ok(200, "GET", path+api, "")
	}
	must(t, s.store.Close())
	for range 3 {
		for _, path := range warm {
			s.ok(200, "GET", path+api, "")
		}
	}
	// What memory would deny is not denied without the store, and nothing is written.
	for _, target := range []string{machinePath("g", "none") + api, machinePath("none", "m") + api, groupPath("g") + own} {
		s.want(503, "ServerTimeout", "GET", target, "")
	}
	s.ok(503, "HEAD", m+api, "")
	s.want(503, "ServerTimeout", "PUT", m+api, westus)
	s.at("westus").do("DELETE", m+api, "", 200)
	s.want(503, "ServerTimeout", "GET", m+api, "")
}

// What memory denies is asked of the store: whose a subscription is, and whether it
// still is where a provider has nothing.
func TestWhatMemoryDeniesIsRead(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	other := newSite(t, setup{tokens: true, path: s.path, beside: s})
	ann, stranger := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(stranger)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	m := machinePath("g", "m")
	s.ok(201, "PUT", m+api, westus, ann...)
	s.ok(200, "GET", m+api, "", ann...)
	s.want(404, "SubscriptionNotFound", "GET", m+api, "", stranger...)
	other.subscribe(subscription, otherTenant, inventory.Enabled)
	s.ok(200, "GET", m+api, "", stranger...) // though it is the first tenant's in memory
	s.within("the bound for the first tenant", func() bool { return s.do("GET", m+api, "", ann...).code == "SubscriptionNotFound" })

	s.ok(200, "GET", m+api, "", stranger...)
	other.subscribe(subscription, otherTenant, inventory.Deleted)
	s.at("westus").do("DELETE", m+api, "", 200)
	s.want(404, "SubscriptionNotFound", "GET", m+api, "", stranger...)
}

// No write is admitted by what memory alone says: another replica's change of the
// subscription, or of the group, counts at once.
func TestMemoryAloneAdmitsNoWrite(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	other := newSite(t, setup{tokens: true, path: s.path, beside: s})
	ann, stranger := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(stranger)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	m := machinePath("g", "m")
	s.ok(201, "PUT", m+api, westus, ann...)
	s.ok(200, "GET", m+api, "", ann...)
	other.ok(200, "DELETE", m+api, "", ann...)
	other.ok(200, "DELETE", groupPath("g")+own, "", ann...)
	s.want(404, "ResourceGroupNotFound", "PUT", m+api, westus, ann...)
	other.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	s.ok(201, "PUT", m+api, westus, ann...) // into the new group of that name

	s.ok(201, "PUT", groupPath("h")+own, westus, ann...)
	lock := groupPath("h") + "/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01"
	other.ok(201, "PUT", lock, `{"properties":{"level":"CanNotDelete"}}`, ann...)
	for range 2 { // of which the second finds all but the locks in memory
		s.want(409, "ScopeLocked", "DELETE", machinePath("h", "none")+api, "", ann...)
	}
	other.ok(200, "DELETE", lock, "", ann...)
	m = machinePath("h", "m")
	s.ok(201, "PUT", m+api, westus, ann...)
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		s.ok(200, "GET", m+api, "", ann...)
		other.subscribe(subscription, otherTenant, inventory.Enabled)
		s.want(404, "SubscriptionNotFound", method, m+api, westus, ann...)
		other.subscribe(subscription, tenant, inventory.Enabled)
		s.ok(200, "GET", m+api, "", ann...)
		other.subscribe(subscription, otherTenant, inventory.Enabled)
		s.ok(200, "PATCH", m+api, "{}", stranger...) // though it is the first tenant's in memory
		other.subscribe(subscription, tenant, inventory.Disabled)
		if method != "DELETE" {
			s.want(409, "ReadOnlyDisabledSubscription", method, m+api, westus, ann...)
		}
		other.subscribe(subscription, tenant, inventory.Enabled)
	}
}

// A subscription that ends is gone at every replica within the bound, though none was
// told.
func TestEndOfASubscriptionIsKnown(t *testing.T) {
	s := newSite(t, setup{})
	other := replica(t, s)
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(200, "GET", m+api, "")
	other.subscribe(subscription, tenant, inventory.Deleted)
	s.within("the end", func() bool {
		got := s.do("GET", m+api, "")
		return got.status == 404 && got.code == "SubscriptionNotFound"
	})
	for range 10 { // and then it stays so
		s.want(404, "SubscriptionNotFound", "GET", m+api, "")
	}
}

// Whichever replica a client asks, it is told what it did through any other: what one
// of them remembers shows in no answer.
func TestReplicasContradictNothing(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	other := replica(t, s)
	s.ok(200, "POST", register, "")
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		w := &world{T: t, sites: []*site{s, other}, settings: map[string]bool{}, groups: map[string]map[string]string{}}
		for i := range 2 {
			w.names = append(w.names, fmt.Sprintf("g%d-%d", n, i))
		}
		t.Repeat(map[string]func(*rapid.T){
			"put group": w.putGroup, "delete group": w.deleteGroup, "put machine": w.putMachine, "delete machine": w.deleteMachine,
			"put setting": w.putSetting, "read": w.read, "read again": w.read, "list": w.list, "read setting": w.readSetting,
		})
	})
}

// world is what clients were told.
type world struct {
	*rapid.T
	sites    []*site
	names    []string
	groups   map[string]map[string]string // the locations of machines by their names
	settings map[string]bool              // extensions of groups, which stay with their provider
}

// drawn draws a replica and a group.
func (w *world) drawn(t *rapid.T) (s *site, group string) {
	return rapid.SampledFrom(w.sites).Draw(t, "replica"), rapid.SampledFrom(w.names).Draw(t, "group")
}

// says asserts an answer: its status, and the code of an error.
func (w *world) says(t *rapid.T, got seen, status int, code string) {
	if got.status != status || got.code != code {
		t.Fatalf("%d %s %s, want %d %s", got.status, got.code, got.text, status, code)
	}
}

func (w *world) putGroup(t *rapid.T) {
	s, g := w.drawn(t)
	status := 200
	if w.groups[g] == nil {
		status, w.groups[g] = 201, map[string]string{}
	}
	w.says(t, s.do("PUT", groupPath(g)+own, westus), status, "")
}

func (w *world) deleteGroup(t *rapid.T) {
	s, g := w.drawn(t)
	switch {
	case w.groups[g] == nil:
		w.says(t, s.do("DELETE", groupPath(g)+own, ""), 404, "ResourceGroupNotFound")
	case len(w.groups[g]) == 0:
		w.says(t, s.do("DELETE", groupPath(g)+own, ""), 200, "")
		delete(w.groups, g)
	}
}

func (w *world) putMachine(t *rapid.T) {
	s, g := w.drawn(t)
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "machine")
	location, exists := w.groups[g][name]
	if !exists {
		location = rapid.SampledFrom([]string{"westus", "eastus"}).Draw(t, "location")
	}
	got := s.do("PUT", machinePath(g, name)+api, fmt.Sprintf(`{"location":%q}`, location))
	switch {
	case w.groups[g] == nil:
		w.says(t, got, 404, "ResourceGroupNotFound")
		return
	case exists:
		w.says(t, got, 200, "")
	default:
		w.says(t, got, 201, "")
	}
	w.groups[g][name] = location
}

func (w *world) deleteMachine(t *rapid.T) {
	s, g := w.drawn(t)
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "machine")
	got := s.do("DELETE", machinePath(g, name)+api, "")
	_, exists := w.groups[g][name]
	switch {
	case w.groups[g] == nil:
		w.says(t, got, 404, "ResourceGroupNotFound")
	case exists:
		w.says(t, got, 200, "")
		delete(w.groups[g], name)
	default:
		w.says(t, got, 204, "")
	}
}

func (w *world) read(t *rapid.T) {
	s, g := w.drawn(t)
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "machine")
	got := s.do("GET", machinePath(g, name)+api, "")
	location, exists := w.groups[g][name]
	switch {
	case w.groups[g] == nil:
		w.says(t, got, 404, "ResourceGroupNotFound")
	case !exists:
		w.says(t, got, 404, "ResourceNotFound")
	default:
		w.says(t, got, 200, "")
		if !strings.Contains(got.text, fmt.Sprintf(`"location":%q`, location)) {
			t.Fatalf("%s, want one in %s", got.text, location)
		}
	}
}

func (w *world) list(t *rapid.T) {
	s, g := w.drawn(t)
	got := s.do("GET", groupPath(g)+"/providers/Contoso.Compute/virtualMachines"+api, "")
	if w.groups[g] == nil {
		w.says(t, got, 404, "ResourceGroupNotFound")
		return
	}
	w.says(t, got, 200, "")
	for _, name := range slices.Sorted(maps.Keys(w.groups[g])) {
		if !strings.Contains(got.text, "/virtualMachines/"+name+`"`) {
			t.Fatalf("%s lacks %s", got.text, name)
		}
	}
}

func (w *world) putSetting(t *rapid.T) {
	s, g := w.drawn(t)
	got := s.do("PUT", settingPath(g)+api, `{"properties":{}}`)
	switch {
	case w.groups[g] == nil:
		w.says(t, got, 404, "ResourceGroupNotFound")
		return
	case w.settings[g]:
		w.says(t, got, 200, "")
	default:
		w.says(t, got, 201, "")
	}
	w.settings[g] = true
}

func (w *world) readSetting(t *rapid.T) {
	s, g := w.drawn(t)
	got := s.do("GET", settingPath(g)+api, "")
	switch {
	case w.groups[g] == nil:
		w.says(t, got, 404, "ResourceGroupNotFound")
	case w.settings[g]:
		w.says(t, got, 200, "")
	default:
		w.says(t, got, 404, "ResourceNotFound")
	}
}

func settingPath(group string) string {
	return groupPath(group) + "/providers/Contoso.Insight/diagnosticSettings/d"
}
