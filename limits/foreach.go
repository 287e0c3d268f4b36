package limits

import (
	"sync"
	"sync/atomic"
)

// ForEach calls work with 0 to n-1, at most atOnce concurrently, and returns when
// all calls have. If one panics, ForEach panics in the end with a *[Panic].
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
