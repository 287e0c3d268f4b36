package observe

import (
	"fmt"
	"testing"
	"time"
)

// One caller has a bounded number of groups, and pushes out none of others; in all they
// are bounded, too. Each counts its answers and shows the newest.
func TestGroupsAreBounded(t *testing.T) {
	var g groups
	at := time.Unix(6000, 0)
	answer := func(caller string, region int) ErrorAnswer {
		at = at.Add(time.Millisecond)
		return ErrorAnswer{Time: at, Status: 503, Region: fmt.Sprint(region), Caller: Caller{ID: caller}}
	}
	g.add(answer("calm", 0))
	for i := range 10 * groupsPerCaller {
		g.add(answer("noisy", i))
	}
	g.add(answer("calm", 0))
	found := g.newestFirst(at)
	if len(found) != groupsPerCaller+1 || found[0].Caller.ID != "calm" || found[0].Count != 2 || found[0].Time != at || !found[0].First.Before(at) {
		t.Errorf("%d groups, the first: %+v", len(found), found[0])
	}
	for i := range 2 * mostGroups {
		g.add(answer(fmt.Sprint(i), 0))
	}
	if len(g.all) != mostGroups {
		t.Errorf("%d groups are kept", len(g.all))
	}
	if left := g.newestFirst(at.Add(groupsKept)); len(left) != 0 {
		t.Errorf("after a day there are %d groups", len(left))
	}
}
