package contoso

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestListsAndTheirScopes(t *testing.T) {
	s := newSite(t, "westus")
	group := func(g string) string { return sub + "/resourceGroups/" + g + "/providers/Contoso.Compute" }
	a, b, c := group("a")+"/virtualMachines/Z", group("B")+"/virtualMachines/y", group("b")+"/virtualMachines/Y-2"
	for _, id := range []string{c, a, b, strings.Replace(a, sub, otherSub, 1), group("a") + "/networkInterfaces/n"} {
		s.do(201, "PUT", id+version, westVM)
	}
	s.do(201, "PUT", a+"/disks/d"+version, `{}`)
	s.get(sub+"/providers/Contoso.Compute/virtualMachines"+version).wantIDs(a, b, c)
	s.get(group("b")+"/virtualMachines"+version).wantIDs(b, c)
	s.get(group("none") + "/virtualMachines" + version).wantIDs()
	s.get(a + "/disks" + version).wantIDs(a + "/disks/d")
	foreign := faulty("foreign-elements")
	s.get(group("b")+"/virtualMachines"+version, foreign).wantIDs(a, b, c, strings.Replace(a, sub, otherSub, 1))
	s.get(b+"/disks"+version, foreign).wantIDs(a + "/disks/d")
	page := s.get(group("b") + "/virtualMachines" + version)
	if strings.Contains(page.body, "nextLink") {
		t.Errorf("a nextLink on the only page: %s", page.body)
	}
}

func TestPaging(t *testing.T) {
	s := newSiteWith(t, Options{Region: "westus", PageSize: 3})
	var all []string
	for i := range 8 {
		id := compute + "/virtualMachines/vm" + strconv.Itoa(i)
		s.do(201, "PUT", id+version, westVM)
		all = append(all, id)
	}
	list := compute + "/virtualMachines?$filter=a%20b&api-version=2024-01-01"
	walk := func(target string, between func(), headers ...string) (pages []int, ids []string) {
		for {
			a := s.get(target, headers...)
			ids = append(ids, a.ids()...)
			pages = append(pages, len(a.ids()))
			next := a.at("nextLink")
			if next == nil {
				if strings.Contains(a.body, "nextLink") {
					t.Fatal("a nextLink on the last page")
				}
				return pages, ids
			}
			target = a.local(next)
			if !strings.HasPrefix(target, list+"&") || strings.Count(target, "skipToken") != 1 {
				t.Fatalf("nextLink %s does not continue %s", target, list)
			}
			between()
		}
	}
	check := func(target, wantPages string, headers ...string) {
		t.Helper()
		pages, ids := walk(target, func() {}, headers...)
		if strings.Join(ids, " ") != strings.Join(all, " ") {
			t.Errorf("ids %q", ids)
		}
		got := ""
		for _, n := range pages {
			got += strconv.Itoa(n)
		}
		if got != wantPages {
			t.Errorf("pages of %s, want %s", got, wantPages)
		}
	}
	check(list, "332")
	check(list, "44", "x-contoso-page-size: 4")
	check(list, "8", "x-contoso-page-size: 8")
	list += "&%24Top=2"
	check(list, "2222")

	n := 0
	_, ids := walk(list, func() {
		s.do(200, "DELETE", all[2*n]+version, "")
		n++
	})
	if strings.Join(ids, " ") != strings.Join(all, " ") {
		t.Errorf("with deletes behind the walk: %q", ids)
	}
	s.refused(400, "InvalidQueryParameter", "GET", list+"&$top=1", "")
	s.refused(400, "InvalidQueryParameter", "GET", compute+"/virtualMachines"+version+"&$top=0", "")
	s.refused(400, "InvalidSkipToken", "GET", compute+"/virtualMachines"+version+"&$skiptoken=abc", "")
	s.refused(400, "InvalidContosoHeader", "GET", list, "", "x-contoso-page-size: 0")
}

func TestLinksComeFromTheRefererAlone(t *testing.T) {
	s := newSiteWith(t, Options{Region: "westus", PageSize: 1})
	s.do(201, "PUT", vm+version, westVM)
	s.do(201, "PUT", vm+"2"+version, westVM)
	list := compute + "/virtualMachines" + version
	a := s.get(list, "X-Forwarded-Host: evil.example")
	a.local(a.at("nextLink"))
	for _, referer := range []string{"", "/path", "ftp://x/", "https://"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+list, http.NoBody)
		must(t, err)
		r.Header.Set("Referer", referer)
		answer, err := s.client.Do(r)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != 400 {
			t.Errorf("referer %q: %d", referer, answer.StatusCode)
		}
	}
}
