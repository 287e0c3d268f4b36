package template

import (
	"strings"
	"testing"

	"portico/template/document"
	"portico/template/expr"
)

// All that is worked out of a deployment spends one allowance, beyond which nothing is.
func TestAllowanceIsThatOfAll(t *testing.T) {
	t.Parallel()
	d, faults := document.Read([]byte(`{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": [],
		"variables": {"sum": "[length(map(range(0, 1000), lambda('i', add(lambdaVariables('i'), 1))))]"}}`), document.Strict, Code)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	in := Input{Template: d.Root, Name: "d", Scope: expr.Scope{Subscription: "s", Group: "g"}, Allowance: new(Allowance)}
	value := expr.PendingOf(expr.Invoke("length", expr.PendingOf(expr.Invoke("range", expr.IntOf(0), expr.IntOf(5000)))))
	finish := func() error {
		_, err := Finish(t.Context(), value, in, nil)
		return err
	}
	expand := func() (n int) {
		_, faults, err := Expand(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return len(faults)
	}
	if n := expand(); n > 0 || in.Allowance.spent.Load() < 1000 {
		t.Errorf("%d faults, and %d steps spent", n, in.Allowance.spent.Load())
	}
	before := in.Allowance.spent.Load()
	if err := finish(); err != nil || in.Allowance.spent.Load() < before+5000 {
		t.Errorf("%v, and %d steps after %d", err, in.Allowance.spent.Load(), before)
	}
	in.Allowance.spent.Store(maxAllowed + 1)
	if err := finish(); err == nil || !strings.Contains(err.Error(), "20000000 are the most") || expand() == 0 {
		t.Errorf("%v", err)
	}
}
