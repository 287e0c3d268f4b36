package gateway_test

import (
	"strings"
	"testing"
)

// A number sign is a legal character of a name. In a path it is encoded, in an ID
// it stands plainly: whatever Portico does by IDs meets both.
func TestNumberSignsInNames(t *testing.T) {
	s := newSite(t, setup{uncovered: true})
	g, to := s.group("G"), s.group("To")
	old, created := machinePath("G", "old%231"), machinePath("G", "made%232")
	s.at("eastus").do("PUT", old+api, eastus, 201)
	s.at("eastus").do("PUT", old+"/disks/d%23"+api, `{}`, 201)
	if got := s.ok(200, "GET", old+api, ""); !strings.Contains(got.text, "/old#1") {
		t.Errorf("%s", got.text)
	}
	s.ok(204, "HEAD", old+"/disks/d%23"+api, "")
	s.ok(201, "PUT", created+api, westus)
	s.ok(201, "PUT", created+"/disks/d%23"+api, `{}`)
	if got := s.names(g + "/resources" + own); got != "made#2 made#2/d# old#1 old#1/d#" {
		t.Errorf("%s", got)
	}
	s.ok(200, "PUT", created+"/providers/Microsoft.Resources/tags/default"+own, `{"properties":{"tags":{"a":"b"}}}`)

	s.work()
	s.moves(g, to, machinePath("G", "made#2"))
	if got := s.names(to + "/resources" + own); got != "made#2 made#2/d#" {
		t.Errorf("%s", got)
	}
	// A last look finds what no one has asked for yet.
	s.at("westus").do("PUT", machinePath("G", "hidden%23")+api, westus, 201)
	s.removed(g)
	s.removed(to)
	s.at("westus").do("GET", machinePath("G", "hidden%23")+api, "", 404)
}
