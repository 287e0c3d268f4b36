package limits

import (
	"fmt"
	"runtime/debug"
)

// Panic is what work panicked with, and where.
type Panic struct {
	Value any
	Stack []byte
}

// Contain does work and returns what it panicked with, nil where it did not. A
// goroutine needs it that a piece of work has of its own: one that panics by
// itself ends the process, past whoever keeps its caller from doing so.
func CatchPanic(work func()) (p *Panic) {
	defer func() {
		if value := recover(); value != nil {
			p = &Panic{value, debug.Stack()}
		}
	}()
	work()
	return nil
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

// Unwrap is the value, where that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
