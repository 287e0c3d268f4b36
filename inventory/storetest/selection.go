package storetest

import (
	"slices"
	"testing"

	"portico/inventory"
	"portico/inventory/index"
)

func testSelection(t *testing.T, database Database) {
	t.Run("by name, location and tag", func(t *testing.T) {
		b := newBench(t, database)
		b.group("a")
		b.group("b")
		tagged := func(group, name string, tags map[string]string) {
			b.Helper()
			_, err := b.Settle(b.ctx, b.begin(write(index.Put, group, name)), inventory.WriteResult{
				Outcome: index.Succeeded, Status: 200, Details: &inventory.Details{Tags: tags},
			})
			b.ok(err)
		}
		tagged("a", "One", map[string]string{"Env": "prod"})
		tagged("b", "one", map[string]string{"env": "test", "owner": "x"})
		tagged("a", "two", nil)
		find := func(q inventory.ResourceQuery) []string {
			b.Helper()
			q.Subscription = Sub
			var found []string
			pages(b, func(after string) ([]inventory.Resource, error) {
				q.After, q.Limit = after, 1
				rows, err := b.Resources(b.ctx, q)
				for _, r := range rows {
					found = append(found, r.Group+"/"+r.Name)
				}
				return rows, err
			}, func(r inventory.Resource) string { return r.Key })
			return found
		}
		check := func(what string, q inventory.ResourceQuery, want ...string) {
			b.Helper()
			if got := find(q); !slices.Equal(got, want) {
				b.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		check("name", inventory.ResourceQuery{Name: "ONE"}, "a/One", "b/one")
		check("name in a group", inventory.ResourceQuery{Name: "one", Group: "B"}, "b/one")
		check("name of another type", inventory.ResourceQuery{Name: "one", Type: "Contoso.Compute/networkInterfaces"})
		check("location", inventory.ResourceQuery{Location: "West US"}, "a/One", "a/two", "b/one")
		check("no such location", inventory.ResourceQuery{Location: "eastus"})
		check("tag", inventory.ResourceQuery{Tag: "ENV"}, "a/One", "b/one")
		check("tag and type", inventory.ResourceQuery{Tag: "env", Type: vmType}, "a/One", "b/one")
		check("tag and location", inventory.ResourceQuery{Tag: "owner", Location: "westus"}, "b/one")

		check("tag and value", inventory.ResourceQuery{Tag: "ENV", TagValue: "prod", OfTagValue: true}, "a/One")
		check("tag and value in another casing", inventory.ResourceQuery{Tag: "env", TagValue: "Prod", OfTagValue: true})
		check("another tag of the value", inventory.ResourceQuery{Tag: "owner", TagValue: "prod", OfTagValue: true})
		check("tag without a value", inventory.ResourceQuery{Tag: "owner", OfTagValue: true})
		tagged("b", "one", map[string]string{"env": "prod", "owner": ""})
		check("a value that came", inventory.ResourceQuery{Tag: "env", TagValue: "prod", OfTagValue: true}, "a/One", "b/one")
		check("a value that went", inventory.ResourceQuery{Tag: "env", TagValue: "test", OfTagValue: true})
		check("a value that is empty", inventory.ResourceQuery{Tag: "owner", OfTagValue: true}, "b/one")
		tagged("b", "one", map[string]string{"env": "test", "Env": "prod"})
		check("one of two values", inventory.ResourceQuery{Tag: "env", TagValue: "test", OfTagValue: true}, "b/one")
		check("the other of two values", inventory.ResourceQuery{Tag: "env", TagValue: "prod", OfTagValue: true}, "a/One", "b/one")

		tagged("b", "one", map[string]string{"Owner": "y"})
		check("a tag that went", inventory.ResourceQuery{Tag: "env"}, "a/One")
		check("a tag in another casing", inventory.ResourceQuery{Tag: "owner"}, "b/one")
		b.settle(b.begin(write(index.Delete, "a", "one")), index.Gone)
		check("a resource that went", inventory.ResourceQuery{Tag: "env"})
		tagged("a", "one", nil)
		check("its successor", inventory.ResourceQuery{Tag: "env"})
	})
	t.Run("a GET ends verification", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.ok(b.RequestVerify(b.ctx, Sub, id("rg", "none")))
		b.ok(b.RequestVerify(b.ctx, Sub, id("RG", "VM")))
		equal(b, b.row("rg", "vm").Verify, true)
		see := func(state string) bool {
			b.Helper()
			row := b.row("rg", "vm")
			settled, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{
				Found: true, ProvisioningState: state, Details: &inventory.Details{Kind: state},
			})
			b.ok(err)
			return settled
		}
		equal(b, see("Updating"), false)
		equal(b, see("Succeeded"), true)
		equal(b, b.row("rg", "vm").Verify, false)
		equal(b, b.row("rg", "vm").Details.Kind, "Succeeded")
	})
	t.Run("the creator is the first PUT's", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		first := write(index.Put, "rg", "vm")
		first.Creator = inventory.Creator{Name: "ann", Kind: "User"}
		b.settle(b.begin(first), index.Succeeded)
		second := write(index.Put, "rg", "vm")
		second.Creator = inventory.Creator{Name: "bob", Kind: "Application"}
		b.settle(b.begin(second), index.Succeeded)
		equal(b, b.row("rg", "vm").Creator, inventory.Creator{Name: "ann", Kind: "User"})
	})
}
