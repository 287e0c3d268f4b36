// Package garbage decides how much garbage the process keeps before it is collected.
//
// Go collects when there is as much garbage as live memory. A gateway's live memory is
// small, so that it collects dozens of times a second under load for a few megabytes.
// [Start] lets more lie while the live memory is small, and nothing more than Go does
// once it has grown: what is allowed on top of live memory then is bounded by that.
// Beyond that it keeps the process within the memory of its container, and gives memory
// back to the system once a burst has ended and the process rests.
//
// GOGC and GOMEMLIMIT in the environment win. GOMAXPROCS follows a container's share of
// processors without help (Go 1.25 and later).
package garbage

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Options say how much memory the process may use for what is no longer needed.
type Options struct {
	// Headroom is how much garbage may lie, where live memory is less than that: but
	// no more than four times the live memory.
	Headroom int64
	// Share of the memory of the container beyond which collections become frequent.
	Share float64
	// Getenv is os.Getenv.
	Getenv func(string) string
}

// Bounds of the garbage that may lie, in percent of live memory: Go's own, and what
// gains more than a twentieth of the processor time.
const (
	leastPercent = 100
	mostPercent  = 400
)

// Start does all of it until stop. It returns the limit that it set, 0 without one.
func Start(o Options) (limit int64, stop func()) {
	var undo []func()
	if o.Getenv("GOMEMLIMIT") == "" {
		if total := containerMemory("/"); total < math.MaxInt64 {
			limit = int64(float64(total) * o.Share)
			before := debug.SetMemoryLimit(limit)
			undo = append(undo, func() { debug.SetMemoryLimit(before) })
		}
	}
	if o.Getenv("GOGC") == "" {
		p := &pace{headroom: o.Headroom}
		before := debug.SetGCPercent(p.percent())
		p.afterNextCollection()
		undo = append(undo, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.stopped = true
			debug.SetGCPercent(before)
		})
		ending, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			newRest().run(ending)
		}()
		undo = append(undo, func() {
			close(ending)
			<-ended
		})
	}
	return limit, func() {
		for _, f := range undo {
			f()
		}
	}
}

// pace adjusts the percentage after each collection.
type pace struct {
	headroom int64

	mu      sync.Mutex
	stopped bool
	now     int
}

// percent is by how much the heap may grow, given what the last collection found.
func (p *pace) percent() int {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	live := uint64(0)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			live += s.Value.Uint64()
		}
	}
	p.now = percentFor(live, p.headroom)
	return p.now
}

func percentFor(live uint64, headroom int64) int {
	return int(max(leastPercent, min(mostPercent, 100*uint64(headroom)/max(live, 1))))
}

// sentinel is garbage at once: its cleanup runs after each collection. It holds a
// pointer, because tiny objects without pointers share memory blocks, and live as long
// as others there.
type sentinel struct{ _ *pace }

func (p *pace) afterNextCollection() {
	runtime.AddCleanup(&sentinel{}, (*pace).adjust, p)
}

func (p *pace) adjust() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	if before := p.now; p.percent() != before {
		debug.SetGCPercent(p.now)
	}
	p.afterNextCollection()
}
