package expr

import "errors"

// Budget bounds what evaluations may spend, all together: one for a template.
type Budget struct {
	steps, bytes, depth int
	spent               error // of the first refusal, which all later ones repeat
}

// NewBudget is a budget of steps (a call of a function, or what takes about as long), of
// bytes that values may take, all that were ever made counted, and of the depth to which
// calls may nest.
func NewBudget(steps, bytes, depth int) *Budget {
	return &Budget{steps: steps, bytes: bytes, depth: depth}
}

// ErrBudget is the fault of a template that asks for more than its budget.
var ErrBudget = errors.New("the template asks for more than an evaluation may spend")

// Steps charges n steps.
func (b *Budget) Steps(n int) error { return b.charge(&b.steps, n, "steps") }

// Bytes charges n bytes: of a string its length, of others Value.Size of what is new.
func (b *Budget) Bytes(n int) error { return b.charge(&b.bytes, n, "bytes of values") }

// Elements charges for a container of n elements whose values exist already.
func (b *Budget) Elements(n int) error {
	if err := b.Steps(n); err != nil {
		return err
	}
	if n > b.bytes/valueSize { // n times the size might overflow
		n = b.bytes/valueSize + 1
	}
	return b.Bytes(n * (valueSize + memberSize))
}

func (b *Budget) charge(left *int, n int, of string) error {
	if b.spent == nil && (n < 0 || n > *left) {
		b.spent = wrapf(ErrBudget, "the template's expressions ask for more %s than an evaluation may spend", of)
	}
	if b.spent != nil {
		return b.spent
	}
	*left -= n
	return nil
}

// enter charges a level of depth, which leave gives back.
func (b *Budget) enter() error {
	if b.spent == nil && b.depth <= 0 {
		b.spent = wrapf(ErrBudget, "the template's expressions nest deeper than an evaluation may go")
	}
	if b.spent != nil {
		return b.spent
	}
	b.depth--
	return nil
}

func (b *Budget) leave() { b.depth++ }
