package outage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/evidence"
	"portico/test/harness"
)

// failovers is where the figures go.
var failovers = evidence.ReportOn("../../docs", "Failovers by Patroni", command)

// change is one of the leader, by the clock of the journal.
type change struct {
	way        string
	began, end time.Duration
}

// Whether Patroni has another member lead or the leader dies, nothing that was acknowledged
// is lost, no gateway ends, and writes go on by themselves.
func TestFailoverByPatroni(t *testing.T) {
	if !*long {
		t.Skip("it takes minutes, and Debian's patroni and etcd-server: make evidence")
	}
	const times = 3
	seen := evidence.Observe(command, evidence.PostgresVersion(),
		evidence.VersionOf("Patroni", "patroni", "--version"), evidence.VersionOf("etcd", "etcd", "--version"))
	store := harness.StartPatroni(t)
	c := newCallers(newSite(t, store.CreateDatabase(t, "portico"), time.Minute), 100*time.Millisecond)
	c.start(t)
	var changes []change
	for range times {
		changes = append(changes, c.change(t, store, "switchover", func() { store.Switchover(t) }, func() {}))
	}
	for range times {
		killed := ""
		changes = append(changes, c.change(t, store, "failover", func() { killed = store.KillLeader(t) }, func() { store.Revive(t, killed) }))
	}
	c.end()
	c.judgeFailover(t, changes)
	c.audit(t)
	extent, table := fmt.Sprintf("%d switchovers and %d failovers", times, times), strings.TrimSpace(c.failovers(changes))
	whole := strings.Join([]string{seen.Describe(extent), table, "Where Portico loses:\n\n- " + c.unpollable()}, "\n\n")
	t.Log("\n" + whole)
	if *write {
		harness.OK(t, failovers.Write(whole, seen.Brief(extent)+"\n\n"+table))
	}
}

// change changes the leader while calls are made, and returns once all is in its place again
// and calls of each kind are served.
func (c *callers) change(t *testing.T, store *harness.Patroni, way string, begin, mend func()) change {
	t.Helper()
	const calls = 5
	everything := slices.Concat(reads, writes, []kind{poll})
	c.await(t, "before a "+way, calls, c.now(), everything, call.served)
	leader := store.Wait(t)
	each := change{way: way, began: c.now()}
	begin()
	store.WaitForAnotherLeader(t, leader)
	c.await(t, "after a "+way, calls, c.now(), everything, call.served)
	mend()
	store.Wait(t)
	c.await(t, "after a "+way, calls, c.now(), everything, call.served)
	each.end = c.now()
	t.Logf("%s: %+v", way, each)
	return each
}

// failovers shows for how long writes and reads were not served, and what they were told.
func (c *callers) failovers(changes []change) string {
	var rows [][]string
	for _, way := range []string{"switchover", "failover"} {
		for name, of := range map[string][]kind{"writes": writes, "reads that ask the store": {readGroup, listIndex, listRoles}, "GETs of a resource": {readResource}} {
			var gaps []float64
			refused, all := 0, 0
			for _, each := range changes {
				if each.way != way {
					continue
				}
				for g := range gatewayCount {
					gaps = append(gaps, c.longestPause(g, of, each).Seconds())
				}
				for _, one := range c.since(each.began) {
					if one.ended <= each.end && slices.Contains(of, one.kind) {
						if all++; !one.served() {
							refused++
						}
					}
				}
			}
			rows = append(rows, []string{way, name, evidence.SpreadOf(gaps).String(), fmt.Sprintf("%d of %d", refused, all)})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(b[0]+b[1], a[0]+a[1]) })
	return evidence.Table([]string{"", "calls", "longest time without one that was served, s", "refused"}, rows)
}

// longestPause is for how long at most a gateway served no call of these kinds during a
// change.
func (c *callers) longestPause(g int, of []kind, during change) (longest time.Duration) {
	last := during.began
	served := []time.Duration{during.end}
	for _, one := range c.since(during.began) {
		if one.gateway == g && one.served() && one.ended <= during.end && slices.Contains(of, one.kind) {
			served = append(served, one.ended)
		}
	}
	slices.Sort(served)
	for _, at := range served {
		longest = max(longest, at-last)
		last = at
	}
	return longest
}
