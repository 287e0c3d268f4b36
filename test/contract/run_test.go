package contract_test

import (
	"testing"

	"portico/provider/certify/contract"
)

// run checks every case on the target, and fails t for each that is not kept, in a
// subtest named after the case. It returns what was tried.
func run(t *testing.T, target contract.Target) []contract.Result {
	t.Helper()
	target.Workers, target.Limits = 16, limits
	var r contract.Recorder
	if err := contract.Try(t.Context(), target, &r); err != nil {
		t.Fatal(err)
	}
	var tried []contract.Result
	for _, result := range r.Results() {
		if result.Outcome == contract.LeftOut {
			continue
		}
		tried = append(tried, result)
		name := result.Case
		if result.Type != "" {
			name += " on " + result.Type
		}
		t.Run(name, func(t *testing.T) {
			t.Logf("%s: %s", result.Section, result.Rule)
			if target.Adapter.Through && result.Through != "" {
				t.Logf("through the front door: %s", result.Through)
			}
			if result.Outcome != contract.Kept {
				t.Errorf("%s %s", result.Outcome, result.Why)
			}
			for _, f := range result.Faults {
				t.Errorf("\nexpected: %s\ngot:      %s", f.Expected, f.Got)
			}
		})
	}
	return tried
}
