// Package garbage decides how much garbage the process keeps before it is collected.
//
// Go collects when there is as much garbage as live memory. A gateway's live memory is
// small, so that it collects dozens of times a second under load for a few megabytes.
// [Start] lets more lie while the live memory is small, and nothing more than Go does
// once it has grown. It keeps the process within the memory of its container, and gives
// memory back to the system once the process rests: until then nothing is collected for
// two minutes, and most of what a burst took stays mapped after that.
//
// GOGC and GOMEMLIMIT in the environment win. GOMAXPROCS follows a container's share of
// processors without help (Go 1.25 and later).
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
	// Bounds of the garbage that may lie, in percent of live memory: Go's own, and what
	// gains more than a twentieth of the processor time.
	leastPercent, mostPercent = 100, 400

	tick = time.Second
	// restTicks are longer than it takes until idle connections have given up their buffers.
	restTicks = 8
	// restfulTick is what a tick of rest allocates at most, in bytes: probes, scrapes and the
	// look-ups of jobs take less.
	restfulTick = 4 << 20
	// leastGain is worth a collection.
	leastGain = 16 << 20
)

// Start does all of it until stop, which the caller calls also after an error. Garbage may
// lie up to headroom, or as much as is live if that is more; share is the part of the
// container's memory to stay below. It returns the bound of memory, math.MaxInt64 without
// one.
func Start(headroom int64, share float64) (limit int64, stop func(), err error) {
	stop = func() {}
	if os.Getenv("GOGC") == "" {
		stop = begin(headroom, time.Tick(tick))
	}
	limit, err = memlimit.Set(memlimit.WithRatio(share))
	return limit, stop, err
}

// begin paces garbage by ticks in a goroutine of its own, until stop.
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

// GiveBack gives unused memory back at once. It collects twice: pools give up what they
// hold at the second collection.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}

// pace follows what the process has live, and gives memory back when it rests. A process
// that gets no processor in the middle of a burst looks like one that rests: what it
// allocates afterwards is given back later.
func pace(ctx context.Context, headroom int64, ticks <-chan time.Time) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	var rested int
	var before, given uint64 // allocated at the last tick, and when memory was given back
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
