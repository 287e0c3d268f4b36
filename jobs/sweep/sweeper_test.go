package sweep_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs/jobstest"
	"portico/jobs/sweep"
)

var everything = sweep.Order{}

func vm(name string) string { return machineID(jobstest.Subscription, "g", name) }

func TestSweepAdoptsWhatProvidersHold(t *testing.T) {
	s := newSite(t)
	s.group(secondSub, "G2")
	s.west.hold(vm("Vm-1"), vm("vm2"), vm("vm3"), vm("vm4"), vm("vm5"), vm("Vm-1")+"/disks/D1", vm("Vm-1")+"/disks/d2", vm("Vm-1")+"/disks/d3")
	// What one type lists of another's, or in another casing, is told apart.
	s.east.hold(strings.Replace(vm("e1"), "resourceGroups/g", "RESOURCEGROUPS/G", 1), vm("e1")+"/disks/d", machineID(secondSub, "g2", "other"))
	report := s.sweep(everything)
	s.finds(report, 11, 0, 0, 0, 0)
	s.holds(jobstest.Subscription, "e1@eastus", "e1/disks/d@eastus", "Vm-1@westus", "Vm-1/disks/D1@westus", "Vm-1/disks/d2@westus",
		"Vm-1/disks/d3@westus", "vm2@westus", "vm3@westus", "vm4@westus", "vm5@westus")
	s.holds(secondSub, "other@eastus")
	if !report.Complete() || report.Done != 8 || report.Of != 8 {
		t.Errorf("%+v", report)
	}
	row, err := s.Store.Resource(t.Context(), jobstest.Subscription, vm("vm-1")+"/disks/d1")
	s.ok(err)
	if row.Phase != index.Live || row.Verify || row.Parent != strings.ToLower(vm("vm-1")) || row.Name != "Vm-1/D1" || row.TypeName != disks ||
		row.APIVersion != "2024-01-01" || row.Location != "westus" || row.Details.Tags["Env"] != "x" ||
		row.Creator != (inventory.Creator{Name: "ann", Kind: "User"}) || row.Created.Year() != 2020 || row.ProvisioningState != "Succeeded" {
		t.Errorf("%+v", row)
	}
	for _, typ := range []string{jobstest.Machines, disks} {
		if left := s.uncovered(typ); len(left) != 0 {
			t.Errorf("%s is not covered in %v", typ, left)
		}
	}
	listed := 0
	for _, c := range report.Counts {
		if c.Region == "westus" {
			listed += c.Listed
		}
	}
	if listed != 8 {
		t.Errorf("%d resources were listed in westus: %+v", listed, report.Counts)
	}
	// A second look finds nothing, and asks for nothing but lists.
	gets := s.west.gets
	s.finds(s.sweep(everything), 0, 0, 0, 0, 0)
	if s.west.gets != gets {
		t.Errorf("%d questions about what is known", s.west.gets-gets)
	}
}

// The contract has a provider make its links of the referer as it is.
func TestSweepOfALiteralProvider(t *testing.T) {
	s := newSite(t)
	s.west.literal = true
	var want []string
	for i := range 3*pageSize + 1 {
		s.west.hold(vm(fmt.Sprint("m", i)))
		want = append(want, fmt.Sprint("m", i, "@westus"))
	}
	report := s.sweep(everything)
	s.finds(report, len(want), 0, 0, 0, 0)
	s.holds(jobstest.Subscription, want...)
	if !report.Complete() {
		t.Errorf("%+v", report)
	}
}

// A number sign is a legal character of a name, and no fragment begins with it.
func TestSweepAdoptsNamesWithNumberSigns(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("a#1"), vm("a#1")+"/disks/d#2")
	s.create(vm("gone#3"), "westus")
	report := s.sweep(everything)
	s.finds(report, 2, 1, 0, 0, 0)
	s.holds(jobstest.Subscription, "a#1@westus", "a#1/disks/d#2@westus")
	if !report.Complete() {
		t.Errorf("%+v", report)
	}
}

func TestSweepOfARegionThatFailsClaimsNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(*regionProvider)
	}{
		{"at once", func(e *regionProvider) { e.fail(always(http.StatusInternalServerError)) }},
		{"on a later page", func(e *regionProvider) {
			e.fail(func(r *http.Request) int {
				if r.URL.Query().Has("$skiptoken") {
					return http.StatusNotFound
				}
				return 0
			})
		}},
		{"by a link to a foreign host", func(e *regionProvider) { e.foreign = true }},
		{"by an answer that is no list", func(e *regionProvider) { e.fail(always(http.StatusNoContent)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			for i := range 4 {
				s.create(vm(fmt.Sprint("east", i)), "eastus")
				s.create(vm(fmt.Sprint("west", i)), "westus")
				s.east.hold(vm(fmt.Sprint("east", i)))
			}
			s.east.drop(vm("east3"))
			s.east.hold(vm("east4"))
			c.fail(s.east)
			report := s.sweep(everything)
			// Its rows stay, also the one whose resource has gone; those of the
			// other region, which holds nothing, go.
			s.holds(jobstest.Subscription, append([]string{"east0@eastus", "east1@eastus", "east2@eastus", "east3@eastus"}, s.rows(jobstest.Subscription)[4:]...)...)
			for _, row := range s.rows(jobstest.Subscription) {
				if strings.HasSuffix(row, "westus") {
					t.Errorf("%s is still there", row)
				}
			}
			if report.Complete() || report.MissingResources.Count != 4 {
				t.Errorf("%+v", report)
			}
			if !slices.ContainsFunc(report.Failures, func(f sweep.Failure) bool { return f.Region == "eastus" && f.Type == jobstest.Machines }) {
				t.Errorf("%+v", report.Failures)
			}
			if left := s.uncovered(jobstest.Machines); !slices.Equal(left, []string{"eastus"}) {
				t.Errorf("not covered: %v", left)
			}
		})
	}
}

// Below parents that no one has seen nothing was listed: where they may be,
// absence of what is nested in them is not claimed either.
func TestSweepClaimsNothingBelowUnseenParents(t *testing.T) {
	s := newSite(t)
	disk := vm("v") + "/disks/d"
	s.east.hold(vm("v"), disk)
	s.east.fail(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/virtualMachines") {
			return http.StatusForbidden
		}
		return 0
	})
	s.sweep(everything)
	for _, typ := range []string{jobstest.Machines, disks} {
		if left := s.uncovered(typ); !slices.Equal(left, []string{"eastus"}) {
			t.Errorf("%s: not covered: %v", typ, left)
		}
	}
	s.east.fail(nil)
	s.sweep(sweep.Order{Subscription: jobstest.Subscription, Uncovered: true})
	if !s.knows(vm("v")) || !s.knows(disk) {
		t.Errorf("the index has %v", s.rows(jobstest.Subscription))
	}
	for _, typ := range []string{jobstest.Machines, disks} {
		if left := s.uncovered(typ); len(left) != 0 {
			t.Errorf("%s: not covered: %v", typ, left)
		}
	}
}

// A list that lacks a resource which is there, or shows one that is not, is not
// believed.
func TestSweepProbesBeforeItRemoves(t *testing.T) {
	s := newSite(t)
	s.create(vm("hidden"), "westus")
	s.create(vm("gone"), "westus")
	s.west.hold(vm("hidden"), vm("stale"))
	s.west.hide(vm("hidden"))
	s.west.onGet = func(id string) {
		if strings.HasSuffix(id, "stale") {
			s.west.drop(vm("stale"))
		}
	}
	s.finds(s.sweep(everything), 0, 1, 0, 0, 0)
	s.holds(jobstest.Subscription, "hidden@westus")
}

// A list tells nothing of what was made after it was begun.
func TestSweepLeavesAloneWhatIsCreatedMeanwhile(t *testing.T) {
	s := newSite(t)
	var listed sync.Once
	s.west.fail(func(*http.Request) int {
		listed.Do(func() { s.create(vm("young"), "westus") })
		return 0
	})
	s.finds(s.sweep(everything), 0, 0, 0, 0, 0)
	s.holds(jobstest.Subscription, "young@westus")
	if s.west.gets != 0 {
		t.Errorf("it was asked for %d times", s.west.gets)
	}
}

// A region that rows lie in but that has left the map could not be looked at.
func TestSweepOfARegionThatLeftTheMap(t *testing.T) {
	s := newSite(t)
	s.create(vm("v"), "northeurope")
	report := s.sweep(everything)
	s.finds(report, 0, 0, 0, 0, 0)
	s.holds(jobstest.Subscription, "v@northeurope")
	if report.Complete() || report.FailureCount != 1 || report.Failures[0].Region != "northeurope" {
		t.Errorf("%+v", report)
	}
}

func TestSweepFlagsWhatItCannotAsk(t *testing.T) {
	s := newSite(t)
	s.create(vm("v"), "westus")
	s.west.fail(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/v") {
			return http.StatusForbidden
		}
		return 0
	})
	report := s.sweep(everything)
	s.finds(report, 0, 0, 0, 0, 0)
	row, err := s.Store.Resource(t.Context(), jobstest.Subscription, vm("v"))
	s.ok(err)
	if !row.Verify || report.FailureCount != 1 {
		t.Errorf("%+v, %+v", row, report)
	}
}

// What is deleted between its listing and its adoption stays deleted.
func TestSweepDoesNotReviveWhatIsDeletedMeanwhile(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"))
	deleted := false
	s.west.onGet = func(string) {
		if deleted {
			return
		}
		deleted = true
		// The provider has read its record for the answer, and the delete
		// overtakes it.
		s.create(vm("v"), "westus")
		s.remove(vm("v"), "westus")
		s.west.hide(vm("v"))
	}
	gets := 0
	s.west.fail(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/v") {
			if gets++; gets > 1 {
				return http.StatusNotFound
			}
		}
		return 0
	})
	s.finds(s.sweep(everything), 0, 0, 0, 0, 0)
	s.absent(vm("v"))
	if gets != 2 {
		t.Errorf("asked for %d times", gets)
	}
	if left := s.uncovered(jobstest.Machines); len(left) != 0 {
		t.Errorf("not covered: %v", left)
	}
}

// Where a write that may yet decide is open, absence is not claimed.
func TestSweepLeavesOpenWhatAWriteDecides(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"))
	ticket, err := s.Store.Begin(t.Context(), inventory.Write{
		Kind: index.Delete, Subscription: jobstest.Subscription, Group: "g", Key: vm("v"), ID: vm("v"), Type: jobstest.Machines, TypeName: jobstest.Machines,
		Region: "westus", APIVersion: "2024-01-01", LateWriteWindow: time.Hour,
	})
	s.ok(err)
	_, err = s.Store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: index.Ambiguous})
	s.ok(err)
	s.finds(s.sweep(everything), 0, 0, 0, 0, 0)
	s.absent(vm("v"))
	if left := s.uncovered(jobstest.Machines); !slices.Equal(left, []string{"westus"}) {
		t.Errorf("not covered: %v", left)
	}
}

// What was deleted and made again in another region, behind the index's back, is found
// where it is by one sweep, and what lies below it too.
func TestSweepFollowsAResourceToAnotherRegion(t *testing.T) {
	s := newSite(t)
	s.create(vm("v"), "westus")
	s.create(vm("v")+"/disks/d", "westus")
	s.east.hold(vm("v"), vm("v")+"/disks/d")
	s.finds(s.sweep(everything), 2, 2, 0, 0, 0)
	s.holds(jobstest.Subscription, "v@eastus", "v/disks/d@eastus")
	if s.strays() != 0 {
		t.Errorf("%d strays", s.strays())
	}
}

// So it is where another sweep, at the same moment, has found first that it is gone from its
// region.
func TestSweepDuringAnotherFollowsAResource(t *testing.T) {
	s := newSite(t)
	s.create(vm("v"), "westus")
	s.east.hold(vm("v"))
	s.west.onGet = func(id string) {
		row, err := s.Store.Resource(t.Context(), jobstest.Subscription, id)
		s.ok(err)
		settled, _, err := s.Store.Observe(t.Context(), row.Subscription, row.Key, row.Generation, inventory.Observation{})
		if s.ok(err); !settled {
			t.Error("the other sweep did not find that it is gone")
		}
	}
	s.finds(s.sweep(everything), 1, 0, 0, 0, 0)
	s.holds(jobstest.Subscription, "v@eastus")
	if s.strays() != 0 {
		t.Errorf("%d strays", s.strays())
	}
}

func TestSweepReportsStraysAndUnknownGroups(t *testing.T) {
	s := newSite(t)
	s.create(vm("v"), "westus")
	s.west.hold(vm("v"))
	s.east.hold(vm("V"), machineID(jobstest.Subscription, "nobodys", "x"))
	report := s.sweep(everything)
	s.finds(report, 0, 0, 1, 1, 0)
	s.holds(jobstest.Subscription, "v@westus")
	if s.strays() != 1 || report.Strays.IDs[0] != vm("V") {
		t.Errorf("%d strays, %+v", s.strays(), report)
	}
	if left := s.uncovered(jobstest.Machines); !slices.Equal(left, []string{"eastus"}) {
		t.Errorf("what lies in an unknown group is not absent; not covered: %v", left)
	}
	if _, err := s.Store.Group(t.Context(), jobstest.Subscription, "nobodys"); err == nil {
		t.Error("the group was made")
	}
	// Neither is there any more.
	s.east.drop(vm("V"))
	s.group(jobstest.Subscription, "nobodys")
	s.finds(s.sweep(everything), 1, 0, 0, 0, 0)
	if s.strays() != 0 || len(s.uncovered(jobstest.Machines)) != 0 {
		t.Errorf("%d strays, not covered: %v", s.strays(), s.uncovered(jobstest.Machines))
	}
}

func TestDrySweepChangesNothing(t *testing.T) {
	s := newSite(t)
	s.create(vm("gone"), "westus")
	s.create(vm("v"), "westus")
	s.west.hold(vm("new"), vm("v"))
	s.east.hold(vm("v"), machineID(jobstest.Subscription, "nobodys", "x"))
	db, err := sql.Open("sqlite", s.Path)
	s.ok(err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "UPDATE usage SET used = used + 1 WHERE type <> ''")
	s.ok(err)
	before := s.rows(jobstest.Subscription)
	s.finds(s.sweep(sweep.Order{DryRun: true}), 1, 1, 1, 1, 1)
	s.holds(jobstest.Subscription, before...)
	row, err := s.Store.Resource(t.Context(), jobstest.Subscription, vm("gone"))
	s.ok(err)
	if row.NeedsVerify() || s.strays() != 0 || len(s.uncovered(jobstest.Machines)) != 2 {
		t.Errorf("%+v, %d strays, not covered: %v", row, s.strays(), s.uncovered(jobstest.Machines))
	}
	// The same, in earnest.
	s.finds(s.sweep(everything), 1, 1, 1, 1, 1)
	s.holds(jobstest.Subscription, "new@westus", "v@westus")
}

func TestSweepWaitsForABusyRegion(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"))
	refused := 0
	s.west.fail(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "irtualMachines") && refused == 0 {
			refused++
			return http.StatusTooManyRequests
		}
		return 0
	})
	report := s.sweep(sweep.Order{Subscription: jobstest.Subscription})
	s.finds(report, 1, 0, 0, 0, 0)
	if !report.Complete() || refused != 1 {
		t.Errorf("%+v", report)
	}
}

// Elements that name nothing of the type are faults, and so many of them end
// the list.
func TestSweepRefusesForeignElements(t *testing.T) {
	s := newSite(t)
	s.create(vm("v"), "westus")
	s.west.hold(vm("v"))
	for i := range 10 {
		// in another subscription, which the list of this one shows
		s.west.hold(strings.Replace(vm("v"), "/subscriptions/"+jobstest.Subscription, "/subscriptions/"+jobstest.Subscription+"/x", 1) + fmt.Sprint(i))
	}
	report := s.sweep(sweep.Order{Subscription: jobstest.Subscription})
	s.holds(jobstest.Subscription, "v@westus")
	if report.Complete() || report.MissingRows.Count != 0 || report.FailureCount != 5 {
		t.Errorf("%+v", report)
	}
}
