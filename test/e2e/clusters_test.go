package e2e

import (
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// A provider makes what a composite resource consists of through the gateway,
// in a subscription of its own, and says there for which resource it is.
func TestCompositeResource(t *testing.T) {
	t.Parallel()
	const internal = "00000000-0000-0000-0000-0000000000ee"
	listen := harness.FreeAddress(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Config: harness.Config{
			Listen: listen, InsightInternal: []string{internal},
			Subscriptions: []harness.Subscription{
				{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Demo", State: "Enabled"},
				{ID: internal, TenantID: harness.TenantID, DisplayName: "Internal", State: "Enabled"},
			},
		},
		Contoso: harness.ContosoOptions{Args: []string{"--front-door", "http://" + listen, "--internal-subscription", internal}},
	})
	w.PutGroup(t, "rg")
	cluster := w.ResourcePath("rg", "Contoso.Insight/clusters/c")
	versioned := "?api-version=" + harness.Version
	call := func(method, path, body string, status int, header ...string) harness.Answer {
		t.Helper()
		return w.Portico.Do(t, harness.Request{Method: method, Path: path, Body: body, Header: harness.Header(header...)}).Want(t, status)
	}
	machines := func(answer harness.Answer) (ids []string) {
		t.Helper()
		properties, _ := answer.JSON(t)["properties"].(map[string]any)
		list, _ := properties["machines"].([]any)
		for _, id := range list {
			text, _ := id.(string)
			ids = append(ids, text)
		}
		return ids
	}
	// held are the machines that the provider of westus has, all of them tagged.
	held := func() []string {
		t.Helper()
		var ids []string
		for _, id := range w.Contoso("westus").IDs(t) {
			if strings.EqualFold(id, cluster) {
				continue
			}
			ids = append(ids, id)
			tags, _ := call("GET", id+versioned, "", 200).JSON(t)["tags"].(map[string]any)
			if tags["resourceCreatedFor"] != cluster {
				t.Errorf("%s has the tags %v", id, tags)
			}
		}
		slices.Sort(ids)
		return ids
	}
	const correlation = "11111111-2222-3333-4444-555555555555"
	created := machines(call("PUT", cluster+versioned, `{"location":"westus","properties":{"workers":2}}`, 201, "x-ms-correlation-request-id", correlation))
	if got := held(); len(got) != 2 || !slices.Equal(got, created) || !strings.HasPrefix(got[0], "/subscriptions/"+internal+"/") {
		t.Fatalf("%v, the cluster names %v", got, created)
	}
	for _, r := range w.Contoso("westus").Requests(t) {
		if r.Method == "PUT" && r.Headers.Get("x-ms-correlation-request-id") != correlation {
			t.Errorf("%s has the correlation id %s", r.Path, r.Headers.Get("x-ms-correlation-request-id"))
		}
	}
	w.Contoso("westus").ForgetRequests(t)
	created = machines(call("PATCH", cluster+versioned, `{"properties":{"workers":3}}`, 200))
	if got := held(); len(got) != 3 || !slices.Equal(got, created) {
		t.Errorf("%v, the cluster names %v", got, created)
	}
	patched := 0
	for _, r := range w.Contoso("westus").Requests(t) {
		if r.Method == "PATCH" && strings.Contains(r.Path, internal) {
			patched++
		}
	}
	if patched != 2 {
		t.Errorf("%d machines were told again what they are for", patched)
	}
	// No one can take the tag away, or do without it.
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", created[0] + versioned, `{"tags":{}}`}, {"PUT", created[0] + versioned, `{"location":"westus"}`},
		{"DELETE", created[0] + "/providers/Microsoft.Resources/tags/default" + versioned, ""},
	} {
		if answer := call(c.method, c.path, c.body, 403); !strings.Contains(string(answer.Body), "RequestDisallowedByPolicy") {
			t.Errorf("%s", answer.Body)
		}
	}
	// The customer sees nothing of it, and it goes with the cluster.
	if list := call("GET", w.SubscriptionPath()+"/resources"+versioned, "", 200).Values(t); len(list) != 1 {
		t.Errorf("%v", list)
	}
	created = machines(call("PUT", cluster+versioned, `{"location":"westus","properties":{"workers":1}}`, 200))
	if got := held(); len(got) != 1 || !slices.Equal(got, created) {
		t.Errorf("%v, the cluster names %v", got, created)
	}
	call("DELETE", cluster+versioned, "", 412, "If-Match", `"other"`)
	if got := held(); len(got) != 1 {
		t.Errorf("%v", got)
	}
	call("DELETE", cluster+versioned, "", 200)
	if got := held(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
