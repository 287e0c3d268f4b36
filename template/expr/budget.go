package expr

import (
	"context"
	"errors"
)

// Budget limits what all evaluations of a template may spend together.
type Budget struct {
	steps, bytes, depth account
	contextErr          func() error // the error of the context
	exhausted           error        // the first error, which all later calls return
}

type account struct{ remaining, limit int }

// NewBudget returns a budget of steps (function calls, or work that takes about as long), of bytes
// for all values ever created, and of nested calls. Once ctx ends, all charges fail with its error.
func NewBudget(ctx context.Context, steps, bytes, depth int) *Budget {
	return &Budget{steps: account{steps, steps}, bytes: account{bytes, bytes}, depth: account{depth, depth}, contextErr: ctx.Err}
}

// ErrBudget is the cause of errors about an exhausted budget.
var ErrBudget = errors.New("the template asks for more than an evaluation may spend")

// stepsPerContextCheck makes the budget check its context about once per millisecond.
const stepsPerContextCheck = 1 << 12

// Spent returns the number of steps charged.
func (b *Budget) Spent() int { return b.steps.limit - b.steps.remaining }

// Steps charges n steps.
func (b *Budget) Steps(n int) error {
	if b.exhausted == nil && (b.steps.remaining-n)/stepsPerContextCheck != b.steps.remaining/stepsPerContextCheck {
		b.exhausted = b.contextErr()
	}
	return b.charge(&b.steps, n, "steps")
}

// Amounts that take about one step to walk through. Strings count for more than containers:
// functions decode them, fold their case and compare them several times.
const (
	bytesPerStep = 32  // bytes
	sizePerStep  = 256 // as returned by Value.Size
)

// Walk charges for walking through a value with all its parts.
func (b *Budget) Walk(v Value) error { return b.Steps(stepsToWalk(v)) }

// Text charges for walking through n bytes of text.
func (b *Budget) Text(n int) error { return b.Steps(n / bytesPerStep) }

func stepsToWalk(v Value) int {
	if v.Is(String) {
		return len(v.text) / bytesPerStep
	}
	return v.Size() / sizePerStep
}

// call charges for a function call and for walking through its arguments.
func (b *Budget) call(f *Function, args []Value) error {
	n := f.Steps + len(args)/8
	for i, arg := range args {
		if walk := f.Param(i).Walk; walk == WalksAll || walk == WalksText && arg.Is(String) {
			n += stepsToWalk(arg)
		}
	}
	return b.Steps(n)
}

// Bytes charges n bytes: the length of a new string, or Value.Size of other new values.
func (b *Budget) Bytes(n int) error { return b.charge(&b.bytes, n, "bytes of values") }

// Elements charges for a container of n existing values.
func (b *Budget) Elements(n int) error {
	if err := b.Steps(n); err != nil {
		return err
	}
	if n > b.bytes.remaining/valueSize { // avoids an overflow of the product
		n = b.bytes.remaining/valueSize + 1
	}
	return b.Bytes(n * (valueSize + memberSize))
}

// Object charges for creating an object of the members, including the lookup of their names.
func (b *Budget) Object(members []Member) error {
	if err := b.Elements(len(members)); err != nil {
		return err
	}
	return b.Names(members)
}

// Names charges for looking up the names of members.
func (b *Budget) Names(members []Member) error {
	n := 0
	for i := range members {
		n += len(members[i].Name)
	}
	return b.Text(n)
}

func (b *Budget) charge(a *account, n int, of string) error {
	if b.exhausted == nil && (n < 0 || n > a.remaining) {
		b.exhausted = wrapf(ErrBudget, "the template's expressions ask for more %s than an evaluation may spend: %d are the most", of, a.limit)
	}
	if b.exhausted != nil {
		return b.exhausted
	}
	a.remaining -= n
	return nil
}

// enter charges one level of depth, until leave.
func (b *Budget) enter() error {
	if b.exhausted == nil && b.depth.remaining <= 0 {
		b.exhausted = wrapf(ErrBudget, "the template's expressions nest deeper than an evaluation may go: %d levels are the most", b.depth.limit)
	}
	if b.exhausted != nil {
		return b.exhausted
	}
	b.depth.remaining--
	return nil
}

func (b *Budget) leave() { b.depth.remaining++ }
