package limits

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// ForEach calls work with 0 to n-1, at most atOnce concurrently, and returns after all calls have
// ended. If a call panics, ForEach then panics with a *[Panic].
func ForEach(atOnce, n int, work func(i int)) {
	var wait sync.WaitGroup
	var failure atomic.Pointer[Panic]
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if p := CatchPanic(func() { work(i) }); p != nil {
				failure.CompareAndSwap(nil, p)
			}
		})
	}
	wait.Wait()
	if p := failure.Load(); p != nil {
		panic(p)
	}
}

// Panic is the value and the stack of a panic.
type Panic struct {
	Value any
	Stack []byte
}

// CatchPanic calls work and returns its panic, or nil. Goroutines need it, because a panic in a
// goroutine ends the process even if the code that started it would recover.
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
