package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"portico/gateway/polling"
)

// What a request of a batch begins is its caller's, as what a request by itself
// begins: its operation can be followed by them, and by no one else.
func TestOperationsStartedInBatches(t *testing.T) {
	for name, immediate := range map[string]int{"at once": 20, "later": 1} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, setup{tokens: true, sections: fmt.Sprintf("batch: {immediate: %d}", immediate)})
			s.work()
			ann := []string{"Authorization", bearer(secret), "User-Agent", "portal/1"}
			bob := []string{"Authorization", bearer(second)}
			for _, group := range []string{"goes", "from", "to"} {
				s.ok(201, "PUT", groupPath(group)+own, westus, ann...)
			}
			for _, group := range []string{"goes", "from"} {
				s.ok(201, "PUT", machinePath(group, "m")+api, westus, ann...)
			}
			m := machinePath("from", "m")
			const insight = inSubscription + "/providers/Contoso.Insight"
			requests := `{"requests":[
				{"httpMethod":"DELETE","url":"` + groupPath("goes") + own + `"},
				{"httpMethod":"POST","url":"` + groupPath("from") + "/moveResources" + own + `","content":` + moveTo(groupPath("to"), m) + `},
				{"httpMethod":"POST","url":"` + insight + "/register" + own + `"},
				{"httpMethod":"DELETE","url":"` + groupPath("none") + own + `"}]}`
			sent := s.do("POST", batchPath, requests, ann...)
			if poll := sent.header.Get("Location"); sent.status == 202 {
				s.want(404, "HttpResourceNotFound", "GET", s.local(poll), "", bob...)
				sent = s.end(sent, ann...)
			}
			all := decode[responses](t, sent).Responses
			if len(all) != 4 || all[0].brief() != "202" || all[1].brief() != "202" || all[2].brief() != "200" || all[3].brief() != "404 ResourceGroupNotFound" {
				t.Fatalf("%s", sent.text)
			}
			for i, want := range []int{200, 204} {
				h := all[i].Headers
				if h["Retry-After"] == "" || !strings.HasPrefix(h["Location"], "http://portico.example"+inSubscription+"/operationresults/") {
					t.Fatalf("%v", h)
				}
				poll := s.local(h["Location"])
				s.want(404, "HttpResourceNotFound", "GET", poll, "", bob...)
				s.want(404, "SubscriptionNotFound", "GET", poll, "", "Authorization", bearer(stranger))
				s.within("the end", func() bool { return s.do("GET", poll, "", ann...).status != 202 })
				s.ok(want, "GET", poll, "", ann...)
				s.ok(200, "GET", s.local(strings.Replace(h["Location"], polling.Results, polling.Statuses, 1)), "", ann...)
			}
			s.want(404, "ResourceGroupNotFound", "GET", groupPath("goes")+own, "", ann...)
			s.ok(200, "GET", machinePath("to", "m")+api, "", ann...)
			s.want(404, "ResourceNotFound", "GET", m+api, "", ann...)
			if got := s.ok(200, "GET", insight+own, "", ann...); !strings.Contains(got.text, `"registrationState":"Registered"`) {
				t.Errorf("%s", got.text)
			}
			// The providers know all of it by the batch's correlation.
			correlation := sent.header.Get("X-Ms-Correlation-Request-Id")
			if immediate == 1 {
				correlation = all[0].Headers["x-ms-correlation-request-id"]
			}
			calls := 0
			for _, r := range s.at("westus").requests() {
				if r.Headers.Get("X-Ms-Correlation-Request-Id") == correlation && (r.Method == "DELETE" || strings.HasSuffix(r.Path, "/moveResources")) {
					calls++
				}
			}
			if calls != 2 {
				t.Errorf("%d calls belong to the batch", calls)
			}
		})
	}
}
