package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// discovery is a virtual machine that a provider has just shown.
func (b *bench) discovery(group, name string) inventory.Discovery {
	return inventory.Discovery{
		Resource: inventory.Resource{
			Subscription: Sub, ID: id(group, name), Group: group, Type: vmType, TypeName: "Contoso.Compute/virtualMachines",
			Region: "westus", APIVersion: "2024-01-01", ProvisioningState: "Succeeded",
			Details: inventory.Details{Tags: map[string]string{"Env": "prod"}},
		},
		ListedSince: b.clock.Now(),
	}
}

func (b *bench) diskSighting(group, vm, name string) inventory.Discovery {
	s := b.discovery(group, vm)
	s.Parent, s.Type, s.TypeName = s.ID, diskType, "Contoso.Compute/virtualMachines/disks"
	s.ID += "/disks/" + name
	return s
}

// adopts asserts the effect of a discovery.
func (b *bench) adopts(s inventory.Discovery, want inventory.AdoptResult) {
	b.Helper()
	got, err := b.Adopt(b.ctx, s)
	b.ok(err)
	equal(b, got, want)
}

func testAdoption(t *testing.T, database Database) {
	t.Run("what was found has a row as found, once", func(t *testing.T) {
		b := newBench(t, database)
		b.group("RG")
		b.adopts(b.discovery("RG", "Vm-1"), inventory.Adopted)
		row := b.row("rg", "vm-1")
		b.stands("vm-1", index.Live, false)
		equal(b, row.ID, id("RG", "Vm-1"))
		equal(b, row.Name, "Vm-1")
		equal(b, row.Region+" "+row.Location+" "+row.Group, "westus westus rg")
		equal(b, row.Generation == [16]byte{}, false)
		tagged, err := b.Resources(b.ctx, inventory.ResourceQuery{Subscription: Sub, Tag: "env"})
		b.ok(err)
		equal(b, len(tagged), 1)
		again := b.discovery("rg", "VM-1")
		again.Details.Tags = nil
		b.adopts(again, inventory.Known)
		equal(b, b.row("rg", "vm-1").ID, id("RG", "Vm-1"))
	})
	t.Run("memory learns of it", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		before, err := b.Locations.Locate(b.ctx, Sub, []byte(id("rg", "vm")), b.clock.Now())
		b.ok(err)
		equal(b, before.Found, false)
		b.adopts(b.discovery("rg", "vm"), inventory.Adopted)
		// Keys are folded; this one needs folding.
		after, err := b.Locations.Refresh(b.ctx, Sub, id("rg", "vm"))
		b.ok(err)
		equal(b, after.Region, "westus")
	})
	t.Run("a nested one belongs to its parent", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.adopts(b.discovery("rg", "vm"), inventory.Adopted)
		b.adopts(b.diskSighting("rg", "vm", "d"), inventory.Adopted)
		children := b.children(id("rg", "vm"))
		equal(b, len(children), 1)
		equal(b, children[0].Name, "vm/d")
		equal(b, children[0].Parent, b.row("rg", "vm").Key)
	})
	t.Run("R6 one that is still on its way is unverified", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		for name, want := range map[string]index.Phase{"Deleting": index.Deleting, "Creating": index.Live} {
			s := b.discovery("rg", name)
			s.ProvisioningState = name
			b.adopts(s, inventory.Adopted)
			b.stands(name, want, true)
		}
		failed := b.discovery("rg", "failed")
		failed.ProvisioningState = "Failed"
		b.adopts(failed, inventory.Adopted)
		b.stands("failed", index.Live, false)
	})
	t.Run("R13 an unknown group is reported, not made", func(t *testing.T) {
		b := newBench(t, database)
		b.adopts(b.discovery("rg", "vm"), inventory.NoGroup)
		_, err := b.Group(b.ctx, Sub, "rg")
		b.is(err, inventory.ErrNotFound)
		b.absent("vm")
	})
	t.Run("R13 a group that is being deleted adopts, and then is not empty", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		_, _, err := b.EditGroup(b.ctx, Sub, "rg", func(g *inventory.Group) (*inventory.Group, error) {
			g.State = index.GroupDeleting
			return g, nil
		})
		b.ok(err)
		b.adopts(b.discovery("rg", "vm"), inventory.Adopted)
		refuses[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
	})
	t.Run("R13 nothing that was deleted since it was listed", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		listed := b.discovery("rg", "vm")
		b.live("rg", "vm")
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		b.adopts(listed, inventory.TooYoung)
		b.absent("vm")
		b.clock.Pass(time.Microsecond)
		b.adopts(b.discovery("rg", "vm"), inventory.Adopted)
	})
	t.Run("R13 nor what a delete without a row was accepted for since", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		listed := b.discovery("rg", "vm")
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Accepted)
		b.adopts(listed, inventory.TooYoung)
	})
	t.Run("R13 nothing while a write is open, nor what was listed before it ended by time", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Ambiguous)
		b.clock.Pass(intentLife - time.Microsecond)
		listed := b.discovery("rg", "vm")
		b.adopts(listed, inventory.TooYoung)
		b.clock.Pass(time.Microsecond)
		_, err := b.Expire(b.ctx, 10)
		b.ok(err)
		b.adopts(listed, inventory.TooYoung)
		b.clock.Pass(time.Microsecond)
		b.adopts(b.discovery("rg", "vm"), inventory.Adopted)
	})
	t.Run("R10 nor what lies below something that was deleted since, or is being deleted", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		listed := b.diskSighting("rg", "vm", "d")
		open := b.begin(write(index.Delete, "rg", "vm"))
		b.adopts(listed, inventory.TooYoung)
		b.settle(open, index.Gone)
		b.adopts(listed, inventory.TooYoung)
	})
	t.Run("it counts for its quota, also beyond it", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) { o.Limits.ResourcesPerTypeAndGroup = 1 })
		b.group("rg")
		b.adopts(b.discovery("rg", "v1"), inventory.Adopted)
		b.adopts(b.discovery("rg", "v2"), inventory.Adopted)
		_, err := b.Begin(b.ctx, write(index.Put, "rg", "v3"))
		equal(b, as[*transaction.QuotaError](b, err).Current, 2)
	})
	t.Run("R14 where it was found is remembered", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.adopts(b.discovery("rg", "vm"), inventory.Adopted)
		regions, _, err := b.Coverage.MayHold(b.ctx, Sub, "rg", vmType, nil)
		b.ok(err)
		equal(b, len(regions), 1)
		settled, _, err := b.Observe(b.ctx, Sub, id("rg", "vm"), b.row("rg", "vm").Generation, inventory.Observation{})
		b.ok(err)
		equal(b, settled, true)
		check := func(_ inventory.Group, touched []inventory.WrittenRegion) error {
			equal(b, len(touched), 1)
			equal(b, touched[0], inventory.WrittenRegion{Type: vmType, Region: "westus"})
			return nil
		}
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{CheckWrittenRegions: check}))
	})
}

func testStrays(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	b.live("rg", "vm")
	elsewhere := b.discovery("RG", "VM")
	elsewhere.Region = "eastus"
	t.Run("R13 a second region is reported, and the row stays where it is", func(t *testing.T) {
		before := b.row("rg", "vm")
		b.adopts(elsewhere, inventory.Strayed)
		equal(b, b.row("rg", "vm").Generation, before.Generation)
		equal(b, b.row("rg", "vm").Region, "westus")
		for _, group := range []string{"", "Rg"} {
			strays, err := b.Strays.List(b.ctx, Sub, group)
			b.ok(err)
			equal(b, len(strays), 1)
			equal(b, strays[0], inventory.Stray{
				Subscription: Sub, Region: "eastus", Key: before.Key, ID: id("RG", "VM"), Group: "rg", Type: vmType, Seen: b.clock.Now(),
			})
		}
		none, err := b.Strays.List(b.ctx, Sub, "r")
		b.ok(err)
		equal(b, len(none), 0)
	})
	t.Run("it is forgotten when a later list does not show it", func(t *testing.T) {
		n, err := b.Strays.ForgetUnseen(b.ctx, Sub, vmType, "eastus", b.clock.Now())
		b.ok(err)
		equal(b, n, 0)
		b.clock.Pass(time.Second)
		n, err = b.Strays.ForgetUnseen(b.ctx, Sub, vmType, "westus", b.clock.Now())
		b.ok(err)
		equal(b, n, 0)
		n, err = b.Strays.ForgetUnseen(b.ctx, Sub, vmType, "eastus", b.clock.Now())
		b.ok(err)
		equal(b, n, 1)
	})
	t.Run("it is none any more when the row has gone", func(t *testing.T) {
		b.adopts(elsewhere, inventory.Strayed)
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		b.adopts(elsewhere, inventory.TooYoung)
		b.clock.Pass(time.Second)
		elsewhere.ListedSince = b.clock.Now()
		b.adopts(elsewhere, inventory.Adopted)
		equal(b, b.row("rg", "vm").Region, "eastus")
		strays, err := b.Strays.List(b.ctx, Sub, "")
		b.ok(err)
		equal(b, len(strays), 0)
	})
}

func testCoverage(t *testing.T, database Database) {
	b := newBench(t, database)
	const covered = "00000000-0000-0000-0000-0000000000a2"
	b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{{ID: Sub, TenantID: "t"}, {ID: covered, TenantID: "t", Covered: true}}))
	regions := []string{"eastus", "westus"}
	uncovered := func(sub, typ string) int {
		t.Helper()
		left, err := b.Coverage.Uncovered(b.ctx, sub, typ, regions)
		b.ok(err)
		return len(left)
	}
	mayHold := func(sub, group string, want ...string) {
		t.Helper()
		got, _, err := b.Coverage.MayHold(b.ctx, sub, group, "Contoso.Compute/virtualMachines", regions)
		b.ok(err)
		equal(b, strings.Join(got, " "), strings.Join(want, " "))
	}
	mayHold(covered, "")
	mayHold(Sub, "", "eastus", "westus")
	mayHold("00000000-0000-0000-0000-0000000000a3", "", "eastus", "westus")
	equal(b, uncovered(covered, vmType), 0)
	equal(b, uncovered(Sub, vmType), 2)
	equal(b, uncovered("00000000-0000-0000-0000-0000000000a3", vmType), 2)
	b.ok(b.Coverage.Cover(b.ctx, Sub, "Contoso.Compute/virtualMachines", "westus", b.clock.Now()))
	b.ok(b.Coverage.Cover(b.ctx, Sub, vmType, "westus", b.clock.Now()))
	left, err := b.Coverage.Uncovered(b.ctx, Sub, vmType, regions)
	b.ok(err)
	equal(b, len(left), 1)
	equal(b, left[0], "eastus")
	mayHold(Sub, "", "eastus")
	b.group("rg")
	for region, group := range map[string]string{"atlantis": "rg", "westus": "rg", "mu": "other", "zion": "other"} {
		b.group(group)
		w := write(index.Put, group, region) // Pending rows count, also in regions that no one named
		w.Region, w.Location = region, region
		b.begin(w)
	}
	mayHold(Sub, "", "atlantis", "eastus", "mu", "westus", "zion")
	mayHold(Sub, "RG", "atlantis", "eastus", "westus")
	mayHold(Sub, "none", "eastus")
	equal(b, uncovered(Sub, diskType), 2)
	b.ok(b.Coverage.Cover(b.ctx, Sub, vmType, "eastus", b.clock.Now()))
	equal(b, uncovered(Sub, vmType), 0)
	of, err := b.Coverage.SweptRegions(b.ctx, strings.ToUpper(Sub))
	b.ok(err)
	equal(b, fmt.Sprint(len(of), of[0].Type, of[0].Region, of[0].Swept.Equal(b.clock.Now())), "2"+vmType+"eastustrue")
	for after, want := range map[string]string{"": Sub, Sub: ""} {
		listed := ""
		found, err := b.Coverage.UncoveredSubscriptions(b.ctx, after, 1)
		b.ok(err)
		for _, s := range found {
			listed += s.ID
		}
		equal(b, listed, want)
	}
	// A region that the map got later was never searched.
	left, err = b.Coverage.Uncovered(b.ctx, Sub, vmType, []string{"northeurope"})
	b.ok(err)
	equal(b, len(left), 1)
}
