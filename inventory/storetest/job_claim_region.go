package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"portico/inventory/jobrow"
)

// addInRegion makes n jobs of a region, due at once.
func (b *bench) addInRegion(region string, n int) {
	b.Helper()
	for i := range n {
		subject := fmt.Sprint(region, i)
		added, err := b.Jobs.Add(b.ctx, jobrow.Job{
			Subscription: Sub, ID: jobrow.ID("verify", subject), Kind: "verify", Subject: subject, Region: region, Payload: `{}`,
		})
		b.ok(err)
		equal(b, added, true)
	}
}

// claimInRegions claims jobs for free slots, which it uses up, and returns their number
// by region.
func (b *bench) claimInRegions(slots map[string]int) (got string, more bool) {
	b.Helper()
	jobs, more, err := b.Jobs.ClaimByRegion(b.ctx, "owner", lease, "verify", func(region string) bool {
		slots[region]--
		return slots[region] >= 0
	})
	b.ok(err)
	count := map[string]int{}
	for _, j := range jobs {
		equal(b, j.Owner, "owner")
		equal(b, strings.HasPrefix(j.Subject, j.Region), true)
		count[j.Region]++
	}
	var text []string
	for _, region := range slices.Sorted(maps.Keys(count)) {
		text = append(text, fmt.Sprintf("%s:%d", region, count[region]))
	}
	return strings.Join(text, " "), more
}

func testClaimsByRegion(t *testing.T, database Database) {
	t.Run("jobs of a region without room hide no others", func(t *testing.T) {
		b := newBench(t, database)
		b.addInRegion("hangs", 150)
		b.clock.Pass(1)
		b.addInRegion("a", 3)
		b.addInRegion("z", 3)
		b.addInRegion("", 2)
		got, more := b.claimInRegions(map[string]int{"hangs": 5, "a": 2, "z": 9, "": 9})
		equal(b, got, ":2 a:2 hangs:5 z:3")
		equal(b, more, true)
		got, more = b.claimInRegions(map[string]int{"a": 9})
		equal(b, got, "a:1")
		equal(b, more, true)
		got, _ = b.claimInRegions(map[string]int{})
		equal(b, got, "")
	})
	t.Run("everything due is claimed in the end", func(t *testing.T) {
		b := newBench(t, database)
		total := 0
		for _, region := range []string{"a", "b", "c"} {
			b.addInRegion(region, 70)
		}
		for range 20 {
			got, more := b.claimInRegions(map[string]int{"a": 16, "b": 16, "c": 16})
			for part := range strings.FieldsSeq(got) {
				var n int
				_, err := fmt.Sscanf(part[2:], "%d", &n)
				b.ok(err)
				total += n
			}
			if !more {
				break
			}
		}
		equal(b, total, 210)
		_, got := b.claim("other", 1000)
		equal(b, got, "")
	})
	t.Run("what is not due is left", func(t *testing.T) {
		b := newBench(t, database)
		b.addInRegion("hangs", 150)
		later := b.addJob("verify", "later", b.clock.Now().Add(lease))
		got, more := b.claimInRegions(map[string]int{"": 9})
		equal(b, got, "")
		equal(b, more, true)
		b.clock.Pass(lease)
		got, _ = b.claimInRegions(map[string]int{"": 9})
		equal(b, got, ":1")
		equal(b, b.job(later.ID).Attempts, 1)
	})
}
