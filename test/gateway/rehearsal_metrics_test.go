package gateway_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	adminapi "portico/gateway/admin/api"
)

// values are the samples on the page of metrics.
func (s *site) values() map[string]float64 {
	s.t.Helper()
	values := map[string]float64{}
	for line := range strings.Lines(s.ask("GET", "/metrics", "").text) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64)
			must(s.t, err)
			values[line[:i]] = value
		}
	}
	return values
}

// changed names the samples that differ, by how much.
func changed(before, after map[string]float64) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if d := after[name] - before[name]; d != 0 {
			all = append(all, fmt.Sprintf("%s %+g", name, d))
		}
	}
	return all
}

// An explanation leaves every metric as it was, and calls no provider, whatever the request
// is: also one that sends others, or that would wait for what it begins.
func TestExplanationsLeaveNoMetric(t *testing.T) {
	s := newSite(t, setup{tokens: true, sections: "operations: {firstAnswer: 2s}\nthrottle: {reads: {bucket: 1000000000, perSecond: 1}}"})
	ann := []string{"Authorization", bearer(secret)}
	g := groupPath("g")
	s.ok(201, "PUT", g+own, westus, ann...)
	s.ok(201, "PUT", groupPath("other")+own, westus, ann...)
	m := machinePath("g", "m")
	s.ok(201, "PUT", m+api, westus, ann...)
	s.ok(201, "PUT", g+lockPlace+"/l"+own, `{"properties":{"level":"CanNotDelete"}}`, ann...)
	accepted := s.ok(202, "POST", m+"/restart"+api, "", append(ann, "X-Contoso-Async", "location")...)
	two := machineIn("a", `, "location": "westus"`) + "," + machineIn("b", `, "location": "westus"`)
	elements := `{"requests":[` + get(m+api) + `,` + get(g+own) + `,{"httpMethod":"PUT","url":"` + machinePath("g", "n") + api + `","content":{"location":"westus"}},{"httpMethod":"GET","url":"/nowhere"}]}`
	signedIn := map[string]string{"Authorization": bearer(secret), "Host": "portico.example"}
	for _, q := range []adminapi.Question{
		{Method: "GET", Path: m + api},
		{Method: "GET", Path: machinePath("g", "none") + api},
		{Method: "HEAD", Path: m + api},
		{Method: "PUT", Path: m + api, Content: westus},
		{Method: "PUT", Path: m + api, Content: eastus},
		{Method: "PUT", Path: machinePath("g", "new") + api, Content: westus},
		{Method: "PATCH", Path: m + api, Content: `{"tags":{"a":"b"}}`},
		{Method: "DELETE", Path: m + api},
		{Method: "POST", Path: m + "/restart" + api},
		{Method: "GET", Path: s.local(accepted.header.Get("Location"))},
		{Method: "GET", Path: g + "/providers/Contoso.Compute/virtualMachines" + api},
		{Method: "GET", Path: inSubscription + "/resources" + own},
		{Method: "PUT", Path: groupPath("new") + own, Content: westus},
		{Method: "DELETE", Path: groupPath("other") + own},
		{Method: "DELETE", Path: g + own},
		{Method: "PUT", Path: m + lockPlace + "/l" + own, Content: `{"properties":{"level":"CanNotDelete"}}`},
		{Method: "PUT", Path: m + "/providers/Microsoft.Resources/tags/default" + own, Content: `{"properties":{"tags":{"a":"b"}}}`},
		{Method: "POST", Path: g + "/moveResources" + own, Content: `{"resources":["` + m + `"],"targetResourceGroup":"` + groupPath("other") + `"}`},
		{Method: "POST", Path: batchPath, Content: elements},
		{Method: "POST", Path: validateResources, Content: `{"provider":"Contoso.Compute","type":"virtualMachines","location":"westus","scope":"` + g + `","resources":[{"name":"v","apiVersion":"2024-01-01"}]}`},
		{Method: "POST", Path: deploymentPath(g, "validate"), Content: deploymentOf("Incremental", "", two)},
		{Method: "POST", Path: deploymentPath(g, "whatIf"), Content: deploymentOf("Incremental", "", two)},
		{Method: "PUT", Path: deploymentPath(g, ""), Content: deploymentOf("Incremental", "", two)},
		{Method: "GET", Path: "/nowhere"},
	} {
		q.Path = strings.Replace(q.Path, "/?", "?", 1)
		for name, as := range map[string]func(adminapi.Question) adminapi.Question{
			"anyone": func(q adminapi.Question) adminapi.Question { return q },
			"a principal": func(q adminapi.Question) adminapi.Question {
				q.Principal, q.Header = callers[secret].ObjectID, map[string]string{"X-Ms-Client-Principal-Id": "spoofed"}
				return q
			},
			"a stranger":    func(q adminapi.Question) adminapi.Question { q.Principal = callers[stranger].ObjectID; return q },
			"a wrong token": func(q adminapi.Question) adminapi.Question { q.Token = "wrong"; return q },
			"bytes": func(q adminapi.Question) adminapi.Question {
				head := q.Method + " " + q.Path + " HTTP/1.1\r\n"
				for name, value := range signedIn {
					head += name + ": " + value + "\r\n"
				}
				return adminapi.Question{Raw: fmt.Appendf(nil, "%sContent-Length: %d\r\nContent-Type: application/json\r\n\r\n%s", head, len(q.Content), q.Content)}
			},
		} {
			before, calls := s.values(), s.calls()
			s.explained(as(q))
			if all := changed(before, s.values()); len(all) > 0 {
				t.Errorf("%s %s by %s: %q", q.Method, q.Path, name, all)
			}
			if n := s.calls() - calls; n > 0 {
				t.Errorf("%s %s by %s: %d calls", q.Method, q.Path, name, n)
			}
		}
	}
}

// What is judged of a plan counts as one request with its reads: not as what it plans.
func TestPlansLeaveNoMetric(t *testing.T) {
	s := newSite(t, setup{tokens: true, sections: "throttle: {reads: {bucket: 1000000000, perSecond: 1}}"})
	ann := []string{"Authorization", bearer(secret)}
	g := groupPath("g")
	s.ok(201, "PUT", g+own, westus, ann...)
	cost := func(target, content string) []string {
		before, calls := s.values(), s.calls()
		s.do("POST", target, content, ann...)
		if n := s.calls() - calls; n > 0 {
			t.Errorf("%s: %d calls", target, n)
		}
		return slices.DeleteFunc(changed(before, s.values()), func(sample string) bool {
			return strings.Contains(sample, "_seconds") || strings.Contains(sample, "_bytes")
		})
	}
	planned := func(names string) string {
		return `{"provider":"Contoso.Compute","type":"virtualMachines","location":"westus","scope":"` + g + `","resources":[` + names + `]}`
	}
	const one, several = `{"name":"v","apiVersion":"2024-01-01"}`, `{"name":"v","apiVersion":"2024-01-01"},{"name":"w","apiVersion":"2024-01-01"},{"name":"w/d","type":"virtualMachines/disks","apiVersion":"2024-01-01"}`
	two := machineIn("a", `, "location": "westus"`) + "," + machineIn("b", `, "location": "westus"`)
	for _, c := range []struct{ target, little, much string }{
		{validateResources, planned(one), planned(several)},
		{deploymentPath(g, "validate"), deploymentOf("Incremental", "", ""), deploymentOf("Incremental", "", two)},
	} {
		cost(c.target, c.much) // endpoints are known by their first call
		little, much := cost(c.target, c.little), cost(c.target, c.much)
		if len(little) == 0 || !slices.Equal(little, much) {
			t.Errorf("%s: %q\nand of more %q", c.target, little, much)
		}
	}
}
