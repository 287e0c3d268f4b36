package limits

import (
	"fmt"
	"runtime/debug"
)

// Panic is the value and the stack of a panic.
type Panic struct {
	Value any
	Stack []byte
}

// CatchPanic calls work and returns its panic, nil if there was none. Use it in
// goroutines: a panic there ends the process, past any recover of the goroutine's
// creator.
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

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
