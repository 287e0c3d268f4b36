package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// pageOf reads a page of machines: their names, and the path of the next page.
func pageOf(t *testing.T, from *harness.Portico, path string) (names []string, next string) {
	t.Helper()
	answer := from.Do(t, harness.Request{Path: path}).Want(t, 200)
	for _, machine := range answer.Values(t) {
		name, _ := machine["name"].(string)
		names = append(names, name)
	}
	link, _ := answer.JSON(t)["nextLink"].(string)
	if link == "" {
		return names, ""
	}
	_, next, found := strings.Cut(link, "/subscriptions/")
	if !found || !strings.Contains(link, "$skipToken=") {
		t.Fatalf("nextLink %s", link)
	}
	return names, "/subscriptions/" + next
}

// fillRegions makes a machine in each region and returns the path of the first
// page of one, and the names.
func fillRegions(t *testing.T, w *harness.World) (first string, all []string) {
	t.Helper()
	for _, region := range harness.RegionNames() {
		w.PutResource(t, "rg", machines+"in-"+region, body(region))
		all = append(all, "in-"+region)
	}
	slices.Sort(all)
	return w.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?$top=1&api-version=" + harness.Version, all
}

// A walk goes on after a restart: the key of its token is in the store.
func TestWalkSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	next, all := fillRegions(t, w)
	var seen []string
	for range all {
		var names []string
		names, next = pageOf(t, w.Portico, next)
		seen = append(seen, names...)
		w.Portico.Stop(t)
		w.Portico.Restart(t)
	}
	if next != "" || !slices.Equal(slices.Sorted(slices.Values(seen)), all) {
		t.Errorf("%q, then %q", seen, next)
	}
}

// Each replica goes on with a walk that another one began.
func testWalkOverReplicas(t *testing.T, w *harness.World, _ *harness.Postgres) {
	next, all := fillRegions(t, w)
	var seen []string
	for i := range all {
		var names []string
		names, next = pageOf(t, w.Replicas[i%2], next)
		seen = append(seen, names...)
	}
	if next != "" || !slices.Equal(slices.Sorted(slices.Values(seen)), all) {
		t.Errorf("%q, then %q", seen, next)
	}
	w.Replicas[1].Do(t, harness.Request{Method: http.MethodGet, Path: w.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?$skipToken=x&api-version=" + harness.Version}).
		WantError(t, 400, "InvalidSkipToken")
}

// A link to a page that holds a provider's long token fits a request, over HTTP/1.1 and
// HTTP/2, beside the headers that clients send: access tokens of issuers have kilobytes.
func TestWalkOfLongLinks(t *testing.T) {
	t.Parallel()
	for name, overTLS := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: overTLS}})
			w.PutGroup(t, "rg")
			next, all := fillRegions(t, w)
			for _, region := range harness.RegionNames() {
				w.PutResource(t, "rg", machines+"more-in-"+region, body(region))
				all = append(all, "more-in-"+region)
				w.Contoso(region).Do(t, harness.Request{
					Method: http.MethodPost, Path: "/contoso/faults", Body: `{"method":"GET","pathContains":"/virtualMachines","fault":"long-next=9000","count":-1}`,
				}).Want(t, 201)
			}
			var seen []string
			for pages := 0; next != "" && pages < 20; pages++ {
				answer := w.Portico.Do(t, harness.Request{Path: next, Header: harness.Header("X-Padding", strings.Repeat("x", 8<<10))}).Want(t, 200)
				for _, machine := range answer.Values(t) {
					seen = append(seen, machine["name"].(string))
				}
				link, _ := answer.JSON(t)["nextLink"].(string)
				_, next, _ = strings.Cut(link, "/subscriptions/")
				if next != "" {
					next = "/subscriptions/" + next
				}
			}
			slices.Sort(all)
			if next != "" || !slices.Equal(slices.Sorted(slices.Values(seen)), all) {
				t.Errorf("%q, then %q", seen, next)
			}
		})
	}
}
