package operator

import (
	"strings"
	"testing"

	"portico/gateway/admin/api"
)

// A dry run ends with what follows from it, and a name that no one knows is no region that
// can go.
func TestRetireSaysWhatFollows(t *testing.T) {
	alone(t)
	for _, c := range []struct {
		r    api.Retirement
		want string
	}{
		{api.Retirement{InMap: true, Coverage: 3}, "Nothing is there: it can be removed from the map."},
		{api.Retirement{InMap: true, Rows: 16, Strays: 1}, "17 resources are there: portico resources list --region eastus"},
		{api.Retirement{InMap: true, Intents: 1}, "portico doubts"},
		{api.Retirement{Rows: 1}, "1 resource is there: portico resources list --region eastus\nIt can be retired now; that forgets"},
		{api.Retirement{Coverage: 1}, "It can be retired now.\n"},
		{api.Retirement{Moving: 2}, "A move has 2 IDs under way there"},
	} {
		c.r.Region, c.r.DryRun = "eastus", true
		all := answers()
		all["POST /admin/regions/{region}/retire"] = c.r
		shows(t, startListener(t, all), "retire eastus --dry-run", c.want)
	}
	all := answers()
	all["POST /admin/regions/{region}/retire"] = api.Retirement{Region: "eastsu", DryRun: true}
	l := startListener(t, all)
	refuses(t, l, "retire eastsu --dry-run", "eastsu", "misspelt", "northeurope, nowhere")
	l.set("POST /admin/regions/{region}/retire", api.Retirement{Region: "eastsu"})
	if text, _, err := answer(t, l, "retire eastsu"); err != nil || strings.Contains(text, "can be") {
		t.Errorf("a retirement that is repeated: %v\n%s", err, text)
	}
}
