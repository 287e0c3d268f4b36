package template

import (
	"sync/atomic"

	"portico/template/expr"
)

// maxAllowed bounds the steps of all values of a deployment that answers complete: each has a
// budget of its own as well.
const maxAllowed = 20 * maxSteps

// Allowance is what all evaluations of a deployment may spend together, in steps. It is safe
// for concurrent use; nil allows everything.
type Allowance struct{ spent atomic.Int64 }

// begin refuses an evaluation if the allowance is spent.
func (a *Allowance) begin() error {
	if a != nil && a.spent.Load() > maxAllowed {
		return expr.Errorf("the expressions of the deployment ask for more steps than all of them may spend together: %d are the most", maxAllowed)
	}
	return nil
}

// end counts what an evaluation has spent.
func (a *Allowance) end(b *expr.Budget) {
	if a != nil {
		a.spent.Add(int64(b.Spent()))
	}
}
