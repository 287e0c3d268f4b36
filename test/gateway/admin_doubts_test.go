package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

type doubtPage struct {
	Value    []doubt
	NextLink string
}

type doubt struct {
	ID, Region, Phase string
	Flags             []string
	Why               []struct {
		Reason, Message, Kind, Job string
		Since                      time.Time
		Until, Next                *time.Time
		LastOutcome                string
		Progress                   json.RawMessage
	}
	Until *time.Time
}

// doubts are all that the admin listener lists, by the last segment of their IDs.
func (s *site) doubts(query string) map[string]doubt {
	s.t.Helper()
	all := map[string]doubt{}
	for target := "/admin/doubts?limit=2" + query; target != ""; {
		page := decode[doubtPage](s.t, s.request(200, "", "GET", target, ""))
		for _, d := range page.Value {
			name := d.ID[strings.LastIndexByte(d.ID, '/')+1:]
			if _, twice := all[name]; twice {
				s.t.Errorf("%s is listed twice", d.ID)
			}
			all[name] = d
		}
		target = page.NextLink
	}
	return all
}

func TestAdminDoubts(t *testing.T) {
	s := newSite(t, setup{})
	if got := s.request(200, "", "GET", "/admin/doubts", ""); got.text != `{"value":[]}` {
		t.Errorf("no doubts: %s", got.text)
	}
	s.group("g")
	started := s.store.Now().Add(-hour)
	for _, name := range []string{"sure", "Broken", "Never", "deleted", "flagged"} {
		s.machine("g", name, "westus")
	}
	s.want(500, "ContosoFault", "PUT", machinePath("g", "Broken")+api, westus, "x-contoso-fault", "status=500")
	s.want(500, "ContosoFault", "DELETE", machinePath("g", "Never")+api, "", "x-contoso-fault", "status=500")
	s.ok(200, "DELETE", machinePath("g", "Never")+api, "") // the first one may still come
	s.ok(202, "DELETE", machinePath("g", "deleted")+api, "", "x-contoso-async", "location", "x-contoso-duration", "1h")
	must(t, s.store.RequestVerify(t.Context(), subscription, machinePath("g", "flagged")))
	ticket, err := s.store.Begin(t.Context(), inventory.Write{
		Kind: index.Patch, Subscription: subscription, Group: "g", Key: machinePath("g", "flagged"), ID: machinePath("g", "flagged"),
		Type: "Contoso.Compute/virtualMachines", TypeName: "Contoso.Compute/virtualMachines", Region: "westus", Location: "westus",
	})
	must(t, err)

	all := s.doubts("&subscription=" + subscription)
	for name, want := range map[string]struct {
		phase  string
		flags  []string
		why    []string
		bounds bool
	}{
		"Broken":  {"Live", []string{"verify"}, []string{"writeWithoutAnswer PUT", "verificationPending "}, true},
		"never":   {"", []string{}, []string{"writeWithoutAnswer DELETE"}, true},
		"deleted": {"Deleting", []string{"followDelete"}, []string{"operationFollowed DELETE"}, false},
		"flagged": {"Live", []string{"verify"}, []string{"writeUnderWay PATCH", "verificationPending "}, true},
	} {
		d, found := all[name]
		var why []string
		for _, r := range d.Why {
			why = append(why, r.Reason+" "+r.Kind)
			ofJob := r.Reason == "operationFollowed" || r.Reason == "verificationPending"
			if r.Message == "" || r.Since.Before(started) || ofJob != (r.Job != "") || ofJob != (r.Next != nil) || (r.Reason == "verificationPending") == (r.Until != nil) {
				t.Errorf("%s: %+v", name, r)
			}
			if ofJob {
				s.request(200, "", "GET", "/admin/jobs/"+r.Job, "")
			}
		}
		if !found || d.Region != "westus" || d.Phase != want.phase || !slices.Equal(d.Flags, want.flags) || !slices.Equal(why, want.why) || want.bounds != (d.Until != nil) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if len(all) != 4 {
		t.Errorf("%+v", all)
	}
	if d := all["Broken"]; d.ID != machinePath("g", "Broken") || !d.Until.Equal(*d.Why[0].Until) {
		t.Errorf("%+v", d)
	}
	if r := all["deleted"].Why[0]; r.Until == nil || !r.Until.Equal(r.Since.Add(24*hour)) || len(r.Progress) == 0 {
		t.Errorf("%+v", r)
	}
	// A call has ended long before the write that it may have made.
	if d := all["flagged"]; !d.Why[0].Until.Equal(ticket.NotAfter) || !d.Until.After(ticket.NotAfter) {
		t.Errorf("%+v", d)
	}
	if others := s.doubts("&subscription=" + strings.Replace(subscription, "1", "2", 1)); len(others) != 0 {
		t.Errorf("%+v", others)
	}

	s.expireOpenWrites()
	all = s.doubts("")
	if d, found := all["never"]; found || len(all) != 3 || all["Broken"].Until != nil || len(all["Broken"].Why) != 1 {
		t.Errorf("%+v, %+v", d, all)
	}
	s.ok(200, "GET", machinePath("g", "Broken")+api, "")
	s.ok(200, "GET", machinePath("g", "flagged")+api, "")
	if all = s.doubts(""); len(all) != 1 || all["deleted"].ID == "" || strings.Contains(all["deleted"].Why[0].Message, "index.followLimit") {
		t.Errorf("%+v", all)
	}
	s.clock.advance(25 * hour)
	if late := s.doubts("")["deleted"]; !strings.Contains(late.Why[0].Message, "within index.followLimit; it is asked again each 1h0m0s") {
		t.Errorf("%+v", late)
	}

	s.request(400, "InvalidQueryParameter", "GET", "/admin/doubts?limit=1001", "")
	s.request(400, "InvalidQueryParameter", "GET", "/admin/doubts?after=x", "")
	s.request(400, "InvalidSubscriptionId", "GET", "/admin/doubts?subscription=x", "")
	s.request(405, "", "POST", "/admin/doubts", "")
}

// What operators are shown is for those who have the admin token.
func TestAdminDoubtsAskForTheToken(t *testing.T) {
	s := newSite(t, setup{server: ", adminToken: {sha256: " + sha("operator") + "}"})
	s.request(401, "AuthenticationFailed", "GET", "/admin/doubts", "")
	s.request(200, "", "GET", "/admin/doubts", "", "Authorization", bearer("operator"))
}

// The regions that were not listed come before the resources, page by page.
func TestAdminDoubtsOfRegions(t *testing.T) {
	s := newSite(t, setup{uncovered: true})
	s.group("g")
	s.machine("g", "m", "westus")
	s.want(500, "ContosoFault", "PUT", machinePath("g", "m")+api, westus, "x-contoso-fault", "status=500")
	s.at("eastus").server.Close()
	s.want(503, "ServiceUnavailable", "PUT", machinePath("g", "n")+api, westus)
	const inSub = "/subscriptions/" + subscription
	for _, query := range []string{"", "&subscription=" + subscription} {
		for limit := 1; limit <= 5; limit++ {
			var got []string
			for target, pages := fmt.Sprintf("/admin/doubts?limit=%d%s", limit, query), 0; target != ""; pages++ {
				page := decode[doubtPage](t, s.request(200, "", "GET", target, ""))
				if len(page.Value) > limit || pages > 5 {
					t.Fatalf("page %d of %d: %+v", pages, limit, page)
				}
				for _, d := range page.Value {
					got = append(got, strings.TrimPrefix(d.ID, inSub)+" "+d.Region+" "+d.Why[0].Reason)
					if eastus := d.Region == "eastus"; eastus != strings.Contains(d.Why[0].Message, "did not answer") || eastus && d.Why[0].LastOutcome == "" {
						t.Errorf("%+v", d)
					}
				}
				target = page.NextLink
			}
			want := []string{" eastus regionUnlisted", " global regionUnlisted", " westus regionUnlisted", strings.TrimPrefix(machinePath("g", "m"), inSub) + " westus writeWithoutAnswer"}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d%s: %q, want %q", limit, query, got, want)
			}
		}
	}
	if page := decode[doubtPage](t, s.request(200, "", "GET", "/admin/doubts?subscription="+foreign, "")); len(page.Value) != 0 {
		t.Errorf("%+v", page)
	}
	for _, after := range []string{"unlisted/", "unlisted/x/eastus", "regionsx", "/subscriptions"} {
		s.request(400, "InvalidQueryParameter", "GET", "/admin/doubts?after="+after, "")
	}
}
