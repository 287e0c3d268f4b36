package expr

import (
	"context"
	"errors"
)

// Budget bounds what evaluations may spend, all together: one for a template.
type Budget struct {
	steps, bytes, depth account
	ended               func() error // the error of the context
	spent               error        // of the first refusal, which all later ones repeat
}

type account struct{ left, most int }

// NewBudget returns a budget of steps (a call of a function, or what takes about as long), of
// bytes that values may take, all that were ever made counted, and of the depth to which
// calls may nest. Once the context ends, everything is refused with its error.
func NewBudget(ctx context.Context, steps, bytes, depth int) *Budget {
	return &Budget{steps: account{steps, steps}, bytes: account{bytes, bytes}, depth: account{depth, depth}, ended: ctx.Err}
}

// ErrBudget is the fault of a template that asks for more than its budget.
var ErrBudget = errors.New("the template asks for more than an evaluation may spend")

// stepsOfLook is how often the context is looked at: about once in a millisecond.
const stepsOfLook = 1 << 12

// Spent returns the steps that were charged.
func (b *Budget) Spent() int { return b.steps.most - b.steps.left }

// Steps charges n steps.
func (b *Budget) Steps(n int) error {
	if b.spent == nil && (b.steps.left-n)/stepsOfLook != b.steps.left/stepsOfLook {
		b.spent = b.ended()
	}
	return b.charge(&b.steps, n, "steps")
}

// What is walked through in about the time of a step. Texts are counted more strictly than
// containers: functions decode texts, fold their case and compare them with several others.
const (
	textOfStep = 32  // bytes
	sizeOfStep = 256 // of Value.Size
)

// Walk charges for a walk through a value with all of its parts.
func (b *Budget) Walk(v Value) error { return b.Steps(stepsToWalk(v)) }

// Text charges for a walk through n bytes of text.
func (b *Budget) Text(n int) error { return b.Steps(n / textOfStep) }

func stepsToWalk(v Value) int {
	if v.Is(String) {
		return len(v.text) / textOfStep
	}
	return v.Size() / sizeOfStep
}

// call charges for a call of a function, with the walk through its arguments, before it is called.
func (b *Budget) call(f *Function, args []Value) error {
	n := f.Steps + len(args)/8
	for i, arg := range args {
		if walk := f.Param(i).Walk; walk == WalksAll || walk == WalksText && arg.Is(String) {
			n += stepsToWalk(arg)
		}
	}
	return b.Steps(n)
}

// Bytes charges n bytes: of a string its length, of others Value.Size of what is new.
func (b *Budget) Bytes(n int) error { return b.charge(&b.bytes, n, "bytes of values") }

// Elements charges for a container of n elements whose values exist already.
func (b *Budget) Elements(n int) error {
	if err := b.Steps(n); err != nil {
		return err
	}
	if n > b.bytes.left/valueSize { // n times the size might overflow
		n = b.bytes.left/valueSize + 1
	}
	return b.Bytes(n * (valueSize + memberSize))
}

// Object charges for an object of the members, whose names have to be found.
func (b *Budget) Object(members []Member) error {
	if err := b.Elements(len(members)); err != nil {
		return err
	}
	return b.Names(members)
}

// Names charges for finding the names of an object's members.
func (b *Budget) Names(members []Member) error {
	n := 0
	for i := range members {
		n += len(members[i].Name)
	}
	return b.Text(n)
}

func (b *Budget) charge(a *account, n int, of string) error {
	if b.spent == nil && (n < 0 || n > a.left) {
		b.spent = wrapf(ErrBudget, "the template's expressions ask for more %s than an evaluation may spend: %d are the most", of, a.most)
	}
	if b.spent != nil {
		return b.spent
	}
	a.left -= n
	return nil
}

// enter charges a level of depth, which leave gives back.
func (b *Budget) enter() error {
	if b.spent == nil && b.depth.left <= 0 {
		b.spent = wrapf(ErrBudget, "the template's expressions nest deeper than an evaluation may go: %d levels are the most", b.depth.most)
	}
	if b.spent != nil {
		return b.spent
	}
	b.depth.left--
	return nil
}

func (b *Budget) leave() { b.depth.left++ }
