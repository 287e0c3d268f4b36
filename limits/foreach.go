package limits

import (
	"sync"
	"sync/atomic"
)

// Each works on the things from 0 to n-1, at most atOnce at a time, and returns
// when all is done. Where work panics, so does Each in the end, with a *[Panic].
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
