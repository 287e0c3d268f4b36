package hostile

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// absent is a subscription that does not exist.
const absent = "00000000-0000-0000-0000-0000000000b2"

// absentID is the ID of no operation.
const absentID = "00000000-0000-4000-8000-0000000000b3"

// seen is everything that an answer reveals, without the exchange's ids and times, and
// with a placeholder for the requested name.
func seen(a harness.Answer, about string) string {
	var lines []string
	for name, values := range a.Header {
		switch name {
		case "Date", "X-Ms-Request-Id", "X-Ms-Correlation-Request-Id", "X-Ms-Routing-Request-Id", "Content-Length":
		default:
			lines = append(lines, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(lines)
	text := fmt.Sprintf("%d\n%s\n\n%s", a.Status, strings.Join(lines, "\n"), a.Body)
	return passing.ReplaceAllString(strings.ReplaceAll(text, about, "{it}"), "…")
}

// passing are the ids in a batch's answer, and ETags: they depend on the answer's
// content, which contains the requested name.
var passing = regexp.MustCompile(`"x-ms-[a-z-]+-id":"[^"]+"|W/\\?"[0-9a-f]+\\?"`)

// versioned is a target with an api-version.
func versioned(target string) string {
	switch {
	case strings.Contains(target, "api-version"):
		return target
	case strings.Contains(target, "?"):
		return target + "&" + api[1:]
	}
	return target + api
}

// Any question about the other tenant's resources is answered like one about something
// that does not exist.
func TestResourcesOfAnotherTenantLookAbsent(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})

	// The resources that an attacker could discover.
	their := func(tail string) string { return "/subscriptions/" + theirs + tail }
	ownAPI := "?api-version=2021-04-01"
	w.as(t, bob, "PUT", their("/resourcegroups/rg")+ownAPI, `{"location":"westus"}`).Want(t, 200, 201)
	w.as(t, bob, "PUT", their("/resourcegroups/gone")+ownAPI, `{"location":"westus"}`).Want(t, 200, 201)
	for _, group := range []string{"rg", "gone"} {
		w.as(t, bob, "PUT", their("/resourceGroups/"+group+"/providers/Evil.Test/things/one")+api, located("westus")).Want(t, 200, 201)
	}
	w.as(t, bob, "PUT", their("/tagNames/n")+ownAPI, "").Want(t, 200, 201)
	w.as(t, bob, "PUT", their("/resourceGroups/rg/providers/Microsoft.Authorization/locks/l")+"?api-version=2020-05-01", `{"properties":{"level":"CanNotDelete"}}`).Want(t, 200, 201)
	w.provider.On(http.MethodPost, "/one/act", answer(202, "", "Location", w.at("westus", their("/providers/Evil.Test/locations/westus/operationResults/o-1")+api)))
	w.as(t, bob, "POST", their("/resourceGroups/rg/providers/Evil.Test/things/one/act")+api, "{}").Want(t, 202)
	w.provider.On(http.MethodGet, "/o-1", answer(200, `{"status":"InProgress"}`))
	job := operationID(w.as(t, bob, "DELETE", their("/resourcegroups/gone")+ownAPI, "").Want(t, 202))
	parts := strings.TrimSuffix(strings.Repeat(`{"httpMethod":"GET","relativeUrl":"/tenants?api-version=2021-04-01"},`, 25), ",")
	batch := operationID(w.as(t, bob, "POST", "/batch"+ownAPI, `{"requests":[`+parts+`]}`).Want(t, 202))
	eventually(t, "the group is gone", func() bool { return w.as(t, bob, "GET", their("/resourcegroups/gone")+ownAPI, "").Status == 404 })
	w.provider.Forget() // also Portico's own calls for a group's deletion

	type row struct{ method, target, body string }
	inSubscription := []row{
		{"GET", "", ""}, {"PUT", "", `{}`}, {"PATCH", "", `{}`}, {"DELETE", "", ""},
		{"GET", "/locations", ""}, {"GET", "/resources", ""}, {"GET", "/resources?$filter=resourceGroup eq 'rg'&x=1", ""}, {"GET", "/resourcegroups", ""},
		{"GET", "/tagNames", ""}, {"PUT", "/tagNames/n", ""}, {"DELETE", "/tagNames/n", ""}, {"PUT", "/tagNames/n/tagValues/v", ""},
		{"GET", "/providers", ""}, {"GET", "/providers/Evil.Test", ""}, {"POST", "/providers/Evil.Test/register", ""}, {"POST", "/providers/Evil.Test/unregister", ""},
		{"GET", "/providers/Microsoft.Resources/tags/default", ""}, {"PUT", "/providers/Microsoft.Resources/tags/default", `{"properties":{"tags":{}}}`},
		{"POST", "/providers/Microsoft.Resources/checkResourceName", `{"name":"one","type":"Evil.Test/things"}`},
		{"GET", "/providers/Microsoft.Features/features", ""}, {"GET", "/providers/Microsoft.Authorization/locks", ""},
		{"GET", "/operationresults/" + job, ""}, {"GET", "/operationStatuses/" + job, ""},
		{"GET", "/providers/Evil.Test/locations/westus/operationResults/o-1", ""}, {"GET", "/providers/Evil.Test/locations/westus/operationStatuses/o-1", ""},
		{"GET", "/providers/Evil.Test/locations/westus/jobs/o-1", ""}, {"GET", "/providers/Evil.Test/things", ""},
		{"POST", "/providers/Evil.Test/checkNameAvailability", `{"name":"one","type":"Evil.Test/things"}`},
		{"GET", "/providers/Evil.Test/skus", ""},
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "POST"} {
		for _, tail := range []string{
			"/resourcegroups/rg", "/resourcegroups/gone", "/resourcegroups/never", "/resourceGroups/rg/providers/Evil.Test/things/one", "/resourceGroups/rg/providers/Evil.Test/things/never",
			"/resourceGroups/rg/providers/Evil.Test/things/one/providers/Evil.Test/marks/m", "/resourceGroups/rg/providers/Microsoft.Authorization/locks/l",
			"/resourceGroups/rg/providers/Evil.Test/things/one/providers/Microsoft.Authorization/locks/l", "/resourceGroups/rg/providers/Evil.Test/things/one/act",
			"/resourceGroups/rg/providers/Evil.Test/things/one/operationResults/o-1", "/resourceGroups/rg/moveResources", "/resourceGroups/rg/resources",
		} {
			inSubscription = append(inSubscription, row{method, tail, located("westus")})
		}
	}
	ask := func(q row, id string) harness.Answer {
		target := strings.ReplaceAll(strings.ReplaceAll(q.target, "{it}", id), " ", "%20")
		return w.as(t, alice, q.method, versioned(target), strings.ReplaceAll(q.body, "{it}", id))
	}
	same := func(q row, real, created string) {
		t.Helper()
		if got, want := seen(ask(q, real), real), seen(ask(q, created), created); got != want {
			t.Errorf("%s %s %s\nof another tenant: %s\nof no one: %s", q.method, q.target, q.body, got, want)
		}
	}
	for _, q := range inSubscription {
		q.target = "/subscriptions/{it}" + q.target
		same(q, theirs, absent)
	}
	mine := "/subscriptions/" + ours
	for _, q := range []row{
		{"POST", mine + "/resourceGroups/rg/moveResources", `{"resources":["` + thing + `"],"targetResourceGroup":"/subscriptions/{it}/resourceGroups/rg"}`},
		{"POST", mine + "/resourceGroups/rg/validateMoveResources", `{"resources":["` + thing + `"],"targetResourceGroup":"/subscriptions/{it}/resourceGroups/rg"}`},
		{"POST", mine + "/resourceGroups/rg/moveResources", `{"resources":["` + thing + `"],"targetResourceGroup":"/subscriptions/{it}/resourceGroups/never"}`},
		{"POST", mine + "/resourceGroups/rg/moveResources", `{"resources":["/subscriptions/{it}/resourceGroups/rg/providers/Evil.Test/things/one"],"targetResourceGroup":"/subscriptions/{it}/resourceGroups/rg"}`},
		{"GET", mine + "/resources?$filter=name eq '{it}'", ""},
		{"GET", mine + "/resources?$filter=tagName eq 'n' and tagValue eq '{it}'", ""},
		{"GET", mine + "/resourcegroups?$filter=tagName eq '{it}'", ""},
		{"PUT", mine + "/resourcegroups/managed", `{"location":"westus","managedBy":"/subscriptions/{it}/resourceGroups/rg/providers/Evil.Test/things/one"}`},
		{"PUT", mine + "/resourceGroups/rg/providers/Evil.Test/things/tagged", `{"location":"westus","tags":{"resourceCreatedFor":"/subscriptions/{it}/resourceGroups/rg/providers/Evil.Test/things/one"}}`},
		{"PUT", mine + "/resourceGroups/managed/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01", `{"properties":{"level":"CanNotDelete","owners":[{"applicationId":"{it}"}]}}`},
		{"POST", "/batch", `{"requests":[{"httpMethod":"GET","relativeUrl":"/subscriptions/{it}/resourcegroups/rg?api-version=2021-04-01"}]}`},
		{"POST", "/batch", `{"requests":[{"httpMethod":"PUT","relativeUrl":"/subscriptions/{it}/resourceGroups/rg/providers/Evil.Test/things/one` + api + `","content":{"location":"westus"}}]}`},
	} {
		if q.method == "PUT" {
			ask(q, ours).Want(t, 200, 201) // so that both change something that exists
		}
		same(q, theirs, absent)
	}
	for _, target := range []string{
		mine + "/operationresults/{it}", mine + "/operationStatuses/{it}", "/operationresults/{it}", "/subscriptions/" + theirs + "/operationresults/{it}",
	} {
		for _, id := range []string{job, batch} {
			same(row{"GET", target, ""}, id, absentID)
		}
	}
	for _, reached := range w.provider.Calls() {
		if strings.Contains(reached.Target, theirs) || strings.Contains(reached.Target, absent) {
			t.Errorf("%s %s reached the provider", reached.Method, reached.Target)
		}
	}
	for _, list := range []string{"/subscriptions", "/tenants"} {
		if got := w.as(t, alice, "GET", list+ownAPI, "").Want(t, 200); strings.Contains(string(got.Body), theirs) || strings.Contains(string(got.Body), theirTenant) {
			t.Errorf("%s: %s", list, got.Body)
		}
	}
}

// operationID is the ID of Portico's own operation that an answer names.
func operationID(a harness.Answer) string {
	link, _, _ := strings.Cut(a.Header.Get("Location"), "?")
	return path.Base(link)
}
