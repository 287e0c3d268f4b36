package hostile

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// at is the URL of a target on a region's endpoint of the provider.
func (w world) at(region, target string) string { return w.provider.URLs[region] + target }

// answer is a provider's answer with headers.
func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// begins makes an action of the provider answer with an operation of a region, which
// somebody then starts. It returns the polling URL for the client.
func (w world) begins(t *testing.T, who harness.Token, action, region, poll string) string {
	t.Helper()
	path, _, _ := strings.Cut(action, "?")
	w.provider.On(http.MethodPost, path, answer(202, "", "Location", w.at(region, poll)))
	location := w.as(t, who, http.MethodPost, action, "{}").Want(t, 202).Header.Get("Location")
	for _, prefix := range []string{"https://", "http://"} {
		if rest, absolute := strings.CutPrefix(location, prefix); absolute {
			_, location, _ = strings.Cut(rest, "/")
			location = "/" + location
		}
	}
	return location
}

// wantHidden checks that a poll does not reach the provider and is answered with
// 404, or with 400 if it contains an invalid name.
func (w world) wantHidden(t *testing.T, who harness.Token, method, target string) {
	t.Helper()
	w.provider.Forget()
	want := http.StatusNotFound
	if strings.Contains(target, "%20?") {
		want = http.StatusBadRequest
	}
	if got := w.as(t, who, method, target, ""); got.Status != want {
		t.Errorf("%s %s by %s: status %d: %s", method, target, who.Name, got.Status, got.Body)
	}
	if seen := w.provider.Calls(); len(seen) > 0 {
		t.Errorf("%s %s by %s reached the provider as %s", method, target, who.Name, seen[0].Target)
	}
}

// wantPolled checks that a poll reaches the provider unchanged.
func (w world) wantPolled(t *testing.T, who harness.Token, target string) {
	t.Helper()
	w.provider.Forget()
	w.as(t, who, http.MethodGet, target, "").Want(t, 200)
	if seen := w.provider.Calls(); len(seen) != 1 || seen[0].Target != target {
		t.Errorf("GET %s by %s reached the provider as %+v", target, who.Name, seen)
	}
}

// spellings are further URLs that might name the operation o of a region. Exact is its
// own.
func spellings(scope, exact string) []string {
	const provider = "/providers/Evil.Test"
	located := scope + provider + "/locations/westus/"
	return []string{
		exact + "&x=1", exact + "&t=", located + "operationResults/o-1" + api, located + "operationResults/o-1",
		located + "OPERATIONRESULTS/O-1" + api + "&t=Sig", located + "operationResults/o-1;v=1" + api, located + "operationResults/o-1%20" + api, located + "%6fperationResults/o%2D1" + api,
		located + "operationStatuses/o-1" + api, located + "operationsStatus/o-1" + api + "&t=Sig", located + "operations/o-1" + api,
		located + "azureAsyncOperations/o-1" + api, located + "operationResults/o-1/result" + api,
		strings.Replace(exact, "/westus/", "/west%20us/", 1), strings.Replace(exact, "/westus/", "/West%20US/", 1),
		strings.Replace(exact, "/westus/", "/eastus/", 1), scope + provider + "/operationResults/o-1" + api,
		strings.Replace(exact, "Evil.Test", "EVIL.TEST", 1) + "&", strings.Replace(exact, "/o-1?", "/o-1//?", 1),
		strings.Replace(exact, "t=Sig", "t=sig", 1), strings.Replace(exact, "&t=Sig", "", 1),
	}
}

// In any spelling, an operation exists only for the caller that started it. That
// caller's poll is forwarded with exactly its URL.
func TestOperationIsNotPolledByAnother(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.provider.On("", "o-1", answer(200, `{"status":"InProgress","properties":"secret"}`))
	w.provider.On("", "O-1", answer(200, `{"status":"InProgress","properties":"secret"}`))
	w.provider.On("", "o%2D1", answer(200, `{"status":"InProgress","properties":"secret"}`))

	scope := "/subscriptions/" + ours
	exact := scope + "/providers/Evil.Test/locations/westus/operationResults/o-1" + api + "&t=Sig"
	if link := w.begins(t, alice, thing+"/act"+api, "westus", exact); link != exact {
		t.Fatalf("the client is told to poll %s", link)
	}
	w.wantPolled(t, alice, exact)
	w.wantHidden(t, carol, http.MethodGet, exact)
	for _, other := range append(spellings(scope, exact), thing+"/operationStatuses/o-1"+api) {
		w.wantHidden(t, carol, http.MethodGet, other)
		w.wantHidden(t, bob, http.MethodGet, other)
	}
	for _, method := range []string{"HEAD", "DELETE", "PUT", "PATCH"} {
		w.wantHidden(t, carol, method, scope+"/providers/Evil.Test/locations/westus/operations/o-1"+api)
	}
	w.wantHidden(t, carol, http.MethodPost, scope+"/providers/Evil.Test/locations/westus/operations/o-1/cancel"+api)
	w.wantHidden(t, carol, http.MethodGet, strings.Replace(exact, scope, "", 1))
	for _, mine := range []string{exact, exact + "&x=1", strings.Replace(exact, "Results", "Statuses", 1)} {
		w.wantPolled(t, alice, mine)
	}
}

// A tenant-level operation is guarded across tenants too.
func TestTenantOperationIsNotPolledByAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.provider.On("", "o-1", answer(200, `{"status":"InProgress","properties":"secret"}`))
	exact := "/providers/Evil.Test/locations/westus/operationResults/o-1" + api + "&t=Sig"
	if link := w.begins(t, alice, "/providers/Evil.Test/act"+api, "global", exact); link != exact {
		t.Fatalf("the client is told to poll %s", link)
	}
	w.wantPolled(t, alice, exact)
	for _, who := range []harness.Token{carol, bob} {
		w.wantHidden(t, who, http.MethodGet, exact)
		for _, other := range spellings("", exact) {
			w.wantHidden(t, who, http.MethodGet, other)
		}
	}
	w.wantHidden(t, carol, http.MethodGet, "/subscriptions/"+ours+exact)
	w.wantHidden(t, bob, http.MethodGet, "/subscriptions/"+theirs+exact)
}

// Polls without a record need the right to read in the subscription; at the tenant
// level there is none.
func TestUnknownOperationBelongsToItsTenant(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.provider.On(http.MethodGet, "unknown", answer(200, `{"status":"InProgress"}`))
	tail := "/providers/Evil.Test/locations/westus/operationStatuses/unknown" + api
	w.wantPolled(t, carol, "/subscriptions/"+ours+tail)
	w.wantHidden(t, bob, http.MethodGet, "/subscriptions/"+ours+tail)
	for _, who := range []harness.Token{alice, bob} {
		w.wantHidden(t, who, http.MethodGet, tail)
		w.wantHidden(t, who, http.MethodGet, "/providers/Evil.Test/operationResults/unknown")
		w.wantHidden(t, who, http.MethodGet, "/providers/Evil.Test/locations/westus/operationResults/unknown/result"+api)
	}
	// What a read has named belongs to no one but the tenant.
	learned := "/subscriptions/" + ours + strings.Replace(tail, "unknown", "learned", 1)
	w.provider.On(http.MethodGet, "learned", answer(200, `{"status":"InProgress"}`))
	w.provider.On(http.MethodGet, thing, answer(200, fmt.Sprintf(`{"id":%q,"location":"westus"}`, thing), "Azure-AsyncOperation", w.at("westus", learned)))
	w.as(t, carol, http.MethodGet, thing+api, "").Want(t, 200)
	w.wantPolled(t, carol, learned)
	w.wantPolled(t, alice, learned)
	w.wantHidden(t, bob, http.MethodGet, learned)
}

// A read that names somebody else's operation by another URL grants no one access to
// it.
func TestReadRecordsNoOperationOfAnother(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.provider.On(http.MethodGet, "o-1", answer(200, `{"status":"InProgress"}`))
	exact := "/subscriptions/" + ours + "/providers/Evil.Test/locations/westus/operationResults/o-1" + api + "&t=Sig"
	w.begins(t, alice, thing+"/act"+api, "westus", exact)
	for i, other := range []string{exact + "&x=1", strings.Replace(exact, "Results", "Statuses", 1)} {
		w.provider.On(http.MethodGet, thing, answer(200, fmt.Sprintf(`{"id":%q,"location":"westus","n":%d}`, thing, i), "Azure-AsyncOperation", w.at("westus", other)))
		w.as(t, carol, http.MethodGet, thing+api, "").Want(t, 200)
		w.wantHidden(t, carol, http.MethodGet, other)
		w.wantPolled(t, alice, other)
	}
}

// Two operations whose URLs differ only in the query belong to those who started them;
// a URL with any other query belongs to no one.
func TestOperationsThatDifferInTheirQuery(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	poll := "/subscriptions/" + ours + "/providers/Evil.Test/locations/westus/operationResults/shared" + api
	w.provider.On(http.MethodGet, "shared", answer(200, `{"status":"InProgress"}`))
	w.begins(t, alice, thing+"/act"+api, "westus", poll+"&t=1")
	w.begins(t, carol, thing+"/act"+api, "westus", poll+"&t=2")
	w.wantPolled(t, alice, poll+"&t=1")
	w.wantPolled(t, carol, poll+"&t=2")
	for _, query := range []string{"&t=1", "&t=1&x=1", "&x=1&t=1", "&T=1", ""} {
		w.wantHidden(t, carol, http.MethodGet, poll+query)
	}
	for _, query := range []string{"&t=2", "&t=2&x=1", ""} {
		w.wantHidden(t, alice, http.MethodGet, poll+query)
	}
}

// A provider names operations of its own namespace and of the subscription in the
// request. Any other URL is replaced, and changes no one's operation.
func TestProviderCannotClaimAnOperationOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	thing, machine := w.thing("rg", "one"), w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	w.put(t, thing)
	w.put(t, machine)
	w.provider.On(http.MethodGet, "/o-1", answer(200, `{"status":"InProgress"}`))
	located := "/providers/Contoso.Compute/locations/westus/operationStatuses/o-1" + api
	victim := "/subscriptions/" + ours + located
	if link := w.begins(t, carol, machine+"/start"+api, "westus", victim); link != victim {
		t.Fatalf("the client is told to poll %s", link)
	}
	for _, named := range []string{
		victim, strings.Replace(victim, "operationStatuses", "operations", 1), victim + "&x=1", "/subscriptions/" + theirs + located, located,
		"/subscriptions/" + theirs + "/providers/Evil.Test/locations/westus/operationStatuses/o-1" + api, "/providers/Evil.Test/operationStatuses/o-1" + api,
	} {
		link := w.begins(t, alice, thing+"/act"+api, "westus", named)
		if !strings.HasPrefix(link, "/subscriptions/"+ours+"/providers/Evil.Test/locations/westus/operationresults/") || strings.Contains(link, "o-1") {
			t.Errorf("%s: the client is told to poll %s", named, link)
		}
		w.provider.On(http.MethodGet, thing, answer(200, fmt.Sprintf(`{"id":%q,"location":"westus"}`, thing), "Azure-AsyncOperation", w.at("westus", named)))
		w.as(t, alice, http.MethodGet, thing+api, "").Want(t, 200)
		w.wantHidden(t, alice, http.MethodGet, victim)
	}
	w.wantPolled(t, carol, victim)
}

// One of Portico's own operations, a delete of a group or a batch, exists only for the
// caller that started it too; to others it looks as if it never existed.
func TestOwnOperationIsNotPolledByAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	group := w.group(t, "rg")
	w.put(t, w.thing("rg", "one"))
	w.provider.On(http.MethodDelete, "/one", answer(429, "{}", "Retry-After", "60")) // so that the delete continues
	const version = "?api-version=2021-04-01"
	job := operationID(w.as(t, alice, http.MethodDelete, group+version, "").Want(t, 202))
	parts := strings.TrimSuffix(strings.Repeat(`{"httpMethod":"GET","relativeUrl":"/tenants`+version+`"},`, 25), ",")
	batch := operationID(w.as(t, alice, http.MethodPost, "/batch"+version, `{"requests":[`+parts+`]}`).Want(t, 202))
	mine := "/subscriptions/" + ours
	w.as(t, alice, http.MethodGet, mine+"/operationresults/"+job+version, "").Want(t, 202)
	w.as(t, alice, http.MethodGet, mine+"/operationStatuses/"+job+version, "").Want(t, 200)
	w.as(t, alice, http.MethodGet, "/operationresults/"+batch+version, "").Want(t, 200, 202)
	for _, target := range []string{
		mine + "/operationresults/{it}", mine + "/operationStatuses/{it}", mine + "/OPERATIONRESULTS/{it}/", "/operationresults/{it}", "/operationStatuses/{it}",
		mine + "/providers/Evil.Test/locations/westus/operationResults/{it}", mine + "/resourceGroups/rg/operationresults/{it}",
	} {
		for _, id := range []string{job, batch} {
			for _, who := range []harness.Token{carol, bob} {
				for _, query := range []string{version, version + "&x=1"} {
					got := seen(w.as(t, who, http.MethodGet, strings.Replace(target, "{it}", id, 1)+query, ""), id)
					want := seen(w.as(t, who, http.MethodGet, strings.Replace(target, "{it}", absentID, 1)+query, ""), absentID)
					if got != want {
						t.Errorf("%s by %s: %s\nof no operation: %s", target, who.Name, got, want)
					}
				}
			}
		}
	}
}
