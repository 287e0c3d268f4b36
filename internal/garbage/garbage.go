// Package garbage decides how much garbage the process accumulates before a collection.
//
// Go collects when there is as much garbage as live memory. A gateway's live memory is
// small, so that under load it would collect dozens of times a second for a few
// megabytes. [Start] permits more garbage while the live memory is small, and nothing
// more than Go does once it has grown. It keeps the process within the memory of its
// container, and returns memory to the system once the process is idle: otherwise
// nothing is collected for two minutes, and most of a burst's memory stays mapped even
// then.
//
// GOGC and GOMEMLIMIT in the environment have precedence. GOMAXPROCS follows a
// container's share of processors by itself (Go 1.25 and later).
package garbage

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// Bounds of the garbage, in percent of live memory: Go's own, and a value
	// beyond which less than a twentieth of the processor time is gained.
	leastPercent, mostPercent = 100, 400

	tick = time.Second
	// restTicks take longer than idle connections keep their buffers.
	restTicks = 8
	// restfulTick bounds the bytes allocated during an idle tick: probes,
	// scrapes and the look-ups of jobs take less.
	restfulTick = 4 << 20
	// leastGain is the minimum gain that justifies a collection.
	leastGain = 16 << 20
)

// Start paces garbage and bounds memory until stop, which the caller must
// call even after an error. Garbage may grow to headroom, or to the size of
// live memory if that is more; share is the usable part of the container's
// memory. It returns the bound of memory, math.MaxInt64 without one.
func Start(headroom int64, share float64) (limit int64, stop func(), err error) {
	stop = func() {}
	if os.Getenv("GOGC") == "" {
		stop = begin(headroom, time.Tick(tick))
	}
	limit, err = memlimit.Set(memlimit.WithRatio(share))
	return limit, stop, err
}

// begin paces garbage by ticks in its own goroutine, until stop.
func begin(headroom int64, ticks <-chan time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pace(ctx, headroom, ticks)
	}()
	return func() {
		cancel()
		<-ended
		debug.SetGCPercent(leastPercent)
	}
}

// GiveBack returns unused memory to the system. It collects twice, because
// pools release their content at the second collection.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}

// pace follows the live memory, and returns memory to the system when the
// process is idle. A process that gets no processor during a burst looks
// idle: its later allocations are returned later.
func pace(ctx context.Context, headroom int64, ticks <-chan time.Time) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	var rested int
	var before, given uint64 // allocated bytes at the last tick, and when memory was returned
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		metrics.Read(samples)
		allocated, live := samples[0].Value.Uint64(), samples[1].Value.Uint64()+samples[2].Value.Uint64()+samples[3].Value.Uint64()
		debug.SetGCPercent(int(max(leastPercent, min(mostPercent, 100*float64(headroom)/float64(live+1)))))
		rested++
		if allocated-before > restfulTick {
			rested = 0
		}
		before = allocated
		if rested >= restTicks && allocated-given > max(leastGain, live/4) {
			GiveBack()
			given = allocated
		}
	}
}
