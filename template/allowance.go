package template

import (
	"sync/atomic"

	"portico/template/expr"
)

// maxAllowed bounds the steps of all evaluations of a deployment together. Each evaluation also has
// its own budget.
const maxAllowed = 20 * maxSteps

// Allowance is the number of steps that all evaluations of a deployment share. It is safe for
// concurrent use; a nil Allowance allows everything.
type Allowance struct{ spent atomic.Int64 }

// begin returns an error if the allowance is spent.
func (a *Allowance) begin() error {
	if a != nil && a.spent.Load() > maxAllowed {
		return expr.Errorf("the expressions of the deployment ask for more steps than all of them may spend together: %d are the most", maxAllowed)
	}
	return nil
}

// end adds the steps that an evaluation has spent.
func (a *Allowance) end(b *expr.Budget) {
	if a != nil {
		a.spent.Add(int64(b.Spent()))
	}
}
