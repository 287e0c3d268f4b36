package status

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/jobs/sweep"
)

// sweeps knows what is not covered, and nothing else.
type sweeps []sweep.Uncovered

func (s sweeps) Latest(context.Context) (sweep.Latest, error) { return sweep.Latest{}, nil }

func (s sweeps) Uncovered(context.Context, string, int) ([]sweep.Uncovered, error) { return s, nil }

// uncovered is a subscription with regions, of which those in capitals do not answer.
func uncovered(name string, restored bool, regions ...string) sweep.Uncovered {
	u := sweep.Uncovered{
		Subscription: inventory.Subscription{ID: "id-" + name, DisplayName: name}, RegionalTypes: 2, Restored: restored, Since: time.Now().Add(-200 * time.Second),
	}
	for _, region := range regions {
		folded, types := strings.ToLower(region), []string{"Contoso.Compute/virtualMachines", "Contoso.Insight/workspaces"}
		r := sweep.UncoveredRegion{Region: folded, Lists: 3, Types: types}
		if folded != region {
			r.Unreachable = types
		}
		u.Regions = append(u.Regions, r)
	}
	return u
}

func TestCreationsThatWaitForRegions(t *testing.T) {
	some := uncovered("First", false, "EASTUS")
	some.Regions[0].Unreachable = some.Regions[0].Unreachable[:1]
	nested := uncovered("First", false, "eastus")
	nested.Regions[0].Types = nil
	var many sweeps
	for i := range 12 {
		many = append(many, uncovered(fmt.Sprint("S", i), true, "A", "B", "C", "D", "E"))
	}
	for _, c := range []struct {
		found sweeps
		want  []string
	}{
		{nil, nil},
		{sweeps{uncovered("First", true, "EASTUS")}, []string{"critical New resources in First cannot be created: eastus has not been listed since the restore, 3 min."}},
		{sweeps{uncovered("First", false, "EASTUS", "WESTUS")}, []string{"critical New resources in First cannot be created: eastus and westus have not been listed yet, 3 min."}},
		{sweeps{uncovered("", false, "EASTUS")}, []string{"critical New resources in id- cannot be created: eastus has not been listed yet, 3 min."}},
		{sweeps{some}, []string{"critical New resources of Contoso.Compute/virtualMachines in First cannot be created: eastus has not been listed yet, 3 min."}},
		{sweeps{uncovered("First", false, "eastus", "westus")}, []string{"warning New resources in First are created only after asking eastus and westus, which have not been listed yet, 3 min."}},
		{sweeps{uncovered("First", false, "eastus", "WESTUS")}, []string{"critical New resources in First cannot be created: westus has not been listed yet, 3 min."}},
		{sweeps{nested}, nil},
		{many, []string{"critical New resources in S0, S1, S2 and 9 more subscriptions cannot be created: a, b, c and 2 more regions have not been listed since the restore, 3 min."}},
		{sweeps{uncovered("First", true, "EASTUS"), uncovered("Second", true, "westus"), uncovered("Third", true, "EASTUS")}, []string{
			"critical New resources in First and Third cannot be created: eastus has not been listed since the restore, 3 min.",
			"warning New resources in Second are created only after asking westus, which has not been listed since the restore, 3 min.",
		}},
	} {
		f := newFinding()
		if err := (Sources{Sweeps: c.found}).findCreations(context.Background(), f, time.Now()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range f.sorted() {
			got = append(got, p.Severity+" "+p.Summary)
			if p.Since == nil || p.Next != "portico doubts" || p.Code != api.CreationsHeld && p.Code != api.RegionsUnlisted {
				t.Errorf("%+v", p)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

func TestTimesInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 59 * time.Minute: "59 min", 47 * time.Hour: "47 h", 48 * time.Hour: "2 d",
	} {
		if got := inWords(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
