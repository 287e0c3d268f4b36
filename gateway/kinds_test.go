package gateway

import (
	"slices"
	"strings"
	"testing"

	adminapi "portico/gateway/admin/api"
)

// Each problem that a kind names is described, and each of its settings exists.
func TestDescriptionsOfKinds(t *testing.T) {
	c := configured(t)
	var codes, settings []string
	for _, k := range adminapi.ProblemKinds() {
		codes = append(codes, k.Code)
	}
	for _, v := range c.Lines() {
		settings = append(settings, v.Path)
	}
	for name, kind := range (&Gateway{assembly: &assembly{longLived: &longLived{}, config: c}}).kinds() {
		d := kind.Describe()
		for _, code := range []string{d.Problems.TooLong, d.Problems.Waiting, d.Problems.Slow} {
			if code != "" && !slices.Contains(codes, code) {
				t.Errorf("%s: there is no problem %s", name, code)
			}
		}
		if d.LimitSetting != "" && (d.Limit == 0 || !slices.Contains(settings, d.LimitSetting)) {
			t.Errorf("%s: its limit is %v by %q", name, d.Limit, d.LimitSetting)
		}
		if d.HoldsAt != nil && (d.Reason == "" || d.Message == "") {
			t.Errorf("%s holds up requests, and does not say why", name)
		}
	}
	kinds := KindsNotResumed()
	if got := strings.Join(kinds.Cancelled, " ") + "; " + strings.Join(kinds.Removed, " "); got != "batch deployment group-delete move validate-move; erase notice" {
		t.Errorf("a restored database does not go on with: %s", got)
	}
}
