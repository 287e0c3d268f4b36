package limits

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each works on the things from 0 to n-1, at most atOnce at a time, and returns
// when all is done. Where work panics, so does Each in the end, with a *[Panic]:
// a goroutine that panics by itself ends the process, past whoever keeps its
// caller from doing so.
func Each(atOnce, n int, work func(i int)) {
	var wait sync.WaitGroup
	var failure atomic.Pointer[Panic]
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					failure.CompareAndSwap(nil, Recovered(value))
				}
				<-slots
			}()
			work(i)
		})
	}
	wait.Wait()
	if p := failure.Load(); p != nil {
		panic(p)
	}
}

// Panic is what a goroutine panicked with, and where.
type Panic struct {
	Value any
	Stack []byte
}

// Recovered is the panic that a deferred function has just recovered from.
func Recovered(value any) *Panic { return &Panic{value, debug.Stack()} }

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

// Unwrap is the value, where that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
