package gateway_test

import (
	"slices"
	"strings"
	"testing"
)

// operationPaths are paths under which providers have their operations polled,
// beside those whose spelling tells it.
func operationPaths(item string) []string {
	const provider = inSubscription + "/providers/Contoso.Script/"
	return []string{
		provider + "locations/westus/operations/o", provider + "operations/o", item + "/operations/o", provider + "OPERATIONS/p",
		provider + "locations/westus/azureAsyncOperations/o", provider + "locations/westus/jobs/o/result", provider + "asyncOperations/o",
		item + "/act/o", item + "/act", item + "/backupJobs/o/operations/p", groupPath("gone") + "/providers/Contoso.Script/items/never/transfers/t",
		inSubscription + "/providers/Contoso.Script/plans/p", // a type of the map
	}
}

// An operation is polled where its provider said, whatever that is called, and by
// who began it alone.
func TestOperationsOfAnySpelling(t *testing.T) {
	p := newScripted(t, setup{tokens: true})
	p.ok(201, "PUT", groupPath("g")+own, westus, auth(secret)...)
	item := groupPath("g") + "/providers/Contoso.Script/items/i"
	p.say("PUT "+item+api, 201, `{"id":"`+item+`","location":"westus"}`)
	p.ok(201, "PUT", item+api, westus, auth(secret)...)
	declared := inSubscription + "/providers/Contoso.Script/plans/p"
	for _, path := range operationPaths(item) {
		for _, query := range []string{"", api, "?api-version=2000-01-01&t=a%2Fb"} {
			for _, header := range []string{"Location", "Azure-Asyncoperation", "Operation-Location"} {
				link := path + query
				p.say("POST "+item+"/act"+api, 202, "", header, p.at+link)
				p.say("GET "+link, 200, `{"status":"Running"}`)
				got := p.ok(202, "POST", item+"/act"+api, "", auth(secret)...)
				if poll := p.local(got.header.Get(header)); poll != link {
					t.Errorf("%s: %s became %s", header, link, poll)
					continue
				}
				p.reached("")
				if got := p.ok(200, "GET", link, "", auth(secret)...); !p.reached("GET "+link) || !strings.Contains(got.text, "Running") {
					t.Errorf("%s: a poll did not ask for it: %s", link, got.text)
				}
				if p.do("GET", strings.ToUpper(path)+query, "", auth(secret)...); !p.reached("GET " + strings.ToUpper(path) + query) {
					t.Errorf("%s: a poll in capitals did not reach the provider", link)
				}
			}
			if path == declared {
				continue // to others it is what its type says
			}
			p.reached("")
			p.want(404, "HttpResourceNotFound", "GET", path+query, "", auth(second)...)
			p.do("GET", path+query, "", auth(stranger)...)
			if p.reached("GET " + path + query) {
				t.Errorf("%s: another caller's poll reached the provider", path)
			}
		}
	}
	// The type's own path stays its own: to others, with another query, to write.
	p.say("GET "+declared+api, 200, `{"name":"p"}`)
	p.ok(200, "GET", declared+api, "", auth(second)...)
	p.want(400, "MissingApiVersionParameter", "GET", declared, "", auth(second)...)
	p.want(400, "NoRegisteredProviderFound", "GET", declared+"?api-version=2000-01-01", "", auth(second)...)
	p.want(400, "MissingApiVersionParameter", "GET", declared+"?x=1", "", auth(secret)...)
	p.want(404, "InvalidResourceType", "GET", item+"/others/o"+api, "", auth(secret)...)
}

// No provider takes the place of what the index keeps, of another's resource or
// of a route of Portico's own by naming it: such URLs are stood in for.
func TestOperationsThatTakeNoPlace(t *testing.T) {
	p := newScripted(t, setup{})
	item, other := p.item("i"), p.item("other")
	for _, link := range []string{
		other + api, groupPath("g") + "/providers/Contoso.Script/items" + api, inSubscription + "/providers/Contoso.Script/items" + api,
		groupPath("g") + own, inSubscription + own, inSubscription + "/operationresults/o", groupPath("g") + "/providers/Microsoft.Authorization/locks/l" + own,
		inSubscription + "/providers/Contoso.Other/locations/westus/jobs/j", "/providers/Contoso.Script/plans/p" + api, inSubscription + "/providers/Contoso.Script/jobs/a%3Ab",
	} {
		p.say("POST "+item+"/act"+api, 202, "", "Location", p.at+link)
		p.say("GET "+link, 202, "")
		poll := p.local(p.ok(202, "POST", item+"/act"+api, "").header.Get("Location"))
		if !strings.Contains(poll, "/locations/westus/operationresults/") {
			t.Errorf("%s became %s", link, poll)
		}
		p.reached("")
		if p.ok(202, "GET", poll, ""); !p.reached("GET " + link) {
			t.Errorf("the poll did not ask for %s", link)
		}
	}
	// A resource that names itself is read as what it is.
	plan := inSubscription + "/providers/Contoso.Script/plans/p"
	p.say("PUT "+plan+api, 202, "", "Location", p.at+plan+api)
	if got := p.local(p.ok(202, "PUT", plan+api, `{}`).header.Get("Location")); got != plan+api {
		t.Errorf("%s became %s", plan, got)
	}
	if _, err := p.recordedOperation(plan + api); err == nil {
		t.Error("a resource was recorded as an operation")
	}
}

// Reads of what no one began are what they were.
func TestOperationsWithoutARecord(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	for _, path := range []string{inSubscription + "/providers/Contoso.Script/locations/westus/operations/x", item + "/operations/x", inSubscription + "/providers/Contoso.Script/operations/x"} {
		p.say("GET "+path, 200, `{"status":"Succeeded"}`)
		p.ok(200, "GET", path, "")
	}
	path := inSubscription + "/providers/Contoso.Script/locations/westus/operations/x"
	p.say("DELETE "+path+api, 204, "") // whatever that means to the provider
	p.ok(204, "DELETE", path+api, "")
	p.want(400, "MissingApiVersionParameter", "GET", inSubscription+"/providers/Contoso.Script/locations/westus/jobs/x", "")
	p.want(404, "InvalidResourceType", "GET", item+"/asyncOperations/x"+api, "")
}

// The end of a write that is polled there settles its row.
func TestOperationsOfAnySpellingSettle(t *testing.T) {
	p := newScripted(t, setup{})
	for i, path := range operationPaths("") {
		if !strings.HasPrefix(path, inSubscription) || strings.HasSuffix(path, "/plans/p") {
			continue
		}
		item := p.item(string(rune('a' + i)))
		p.say("DELETE "+item+api, 202, "", "Azure-Asyncoperation", p.at+path)
		p.say("GET "+path, 200, `{"status":"Succeeded"}`)
		p.ok(202, "DELETE", item+api, "")
		p.leaves(item)
		p.ok(200, "GET", path, "")
		if _, there := p.row(item); there {
			t.Errorf("%s: the end of the poll left the row", path)
		}
	}
}

// The result of an operation may be a page, and its next page lies where the
// provider says, on the front door; so does what its last answer names.
func TestResultsOfAnySpelling(t *testing.T) {
	p := newScripted(t, setup{tokens: true})
	p.ok(201, "PUT", groupPath("g")+own, westus, auth(secret)...)
	item := groupPath("g") + "/providers/Contoso.Script/items/i"
	p.say("PUT "+item+api, 201, `{"id":"`+item+`","location":"westus"}`)
	p.ok(201, "PUT", item+api, westus, auth(secret)...)
	const provider = inSubscription + "/providers/Contoso.Script/"
	for _, path := range []string{provider + "locations/westus/operations/o", provider + "operations/o", provider + "locations/westus/jobs/j", item + "/asyncOperations/o"} {
		poll := path + api
		p.say("POST "+item+"/act"+api, 202, "", "Location", p.at+poll)
		p.ok(202, "POST", item+"/act"+api, "", auth(secret)...)
		for _, next := range []string{path + "?api-version=2024-01-01&%24skipToken=x", path + "/pages/2", provider + "locations/westus/results/r?page=2", item + "/results?page=2"} {
			p.say("GET "+poll, 200, `{"value":[],"nextLink":"`+p.at+next+`"}`)
			p.say("GET "+next, 200, `{"value":[{"n":2}]}`)
			got := p.ok(200, "GET", poll, "", auth(secret)...)
			if link := decode[named](t, got).NextLink; p.local(link) != next {
				t.Errorf("the page leads to %s, want %s", link, next)
			}
			p.reached("")
			if got := p.ok(200, "GET", next, "", auth(secret)...); !p.reached("GET "+next) || !strings.Contains(got.text, `"n":2`) {
				t.Errorf("the next page is %s", got.text)
			}
			p.want(404, "HttpResourceNotFound", "GET", next, "", auth(second)...)
		}
		p.say("GET "+poll, 200, `{"value":[],"nextLink":"https://evil.example`+path+`?x=1"}`)
		if got := p.want(502, "InvalidProviderResponse", "GET", poll, "", auth(secret)...); strings.Contains(got.text, "evil") {
			t.Errorf("%s", got.text)
		}
		for _, status := range []int{200, 201, 204} {
			result := path + "/result"
			p.say("GET "+poll, status, "", "Location", p.at+result)
			p.say("GET "+result, 200, `{"n":3}`)
			got := p.ok(status, "GET", poll, "", auth(secret)...)
			if location := p.local(got.header.Get("Location")); location != result {
				t.Errorf("%d: Location %s", status, location)
			}
			if got := p.ok(200, "GET", result, "", auth(secret)...); !strings.Contains(got.text, `"n":3`) {
				t.Errorf("%d: the result is %s", status, got.text)
			}
			p.want(404, "HttpResourceNotFound", "GET", result, "", auth(second)...)
			p.say("GET "+poll, status, "", "Location", "https://evil.example"+result)
			if got := p.ok(status, "GET", poll, "", auth(secret)...); slices.ContainsFunc(got.header["Location"], func(s string) bool { return strings.Contains(s, "evil") }) {
				t.Errorf("%d: %v", status, got.header)
			}
		}
	}
}

// A page that a URL of Portico's own brings goes on where what it stands for goes
// on, under a name that clients can use.
func TestResultsThatAreStoodInFor(t *testing.T) {
	p := newScripted(t, setup{tokens: true})
	p.ok(201, "PUT", groupPath("g")+own, westus, auth(secret)...)
	item := groupPath("g") + "/providers/Contoso.Script/items/i"
	p.say("PUT "+item+api, 201, `{"id":"`+item+`","location":"westus"}`)
	p.ok(201, "PUT", item+api, westus, auth(secret)...)
	const hidden = "/internal/results/o"
	p.say("POST "+item+"/act"+api, 202, "", "Location", p.at+hidden+"?t=1")
	poll := p.local(p.ok(202, "POST", item+"/act"+api, "", auth(secret)...).header.Get("Location"))
	for link, next := range map[string]string{
		"?page=2": hidden + "?page=2", p.at + hidden + "?page=3": hidden + "?page=3", hidden + "/4": hidden + "/4", item + "/results?page=5": item + "/results?page=5",
		groupPath("g") + "/providers/Contoso.Script/items?page=6": groupPath("g") + "/providers/Contoso.Script/items?page=6",
	} {
		p.say("GET "+hidden+"?t=1", 200, `{"value":[],"nextLink":"`+link+`"}`)
		p.say("GET "+next, 200, `{"value":[{"n":2}]}`)
		further := p.local(decode[named](t, p.ok(200, "GET", poll, "", auth(secret)...)).NextLink)
		p.reached("")
		if got := p.ok(200, "GET", further, "", auth(secret)...); !p.reached("GET "+next) || !strings.Contains(got.text, `"n":2`) {
			t.Errorf("%s: the next page, %s, is %s", link, further, got.text)
		}
		p.want(404, "HttpResourceNotFound", "GET", further, "", auth(second)...)
	}
}
