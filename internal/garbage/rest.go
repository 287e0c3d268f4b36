package garbage

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A process that rests collects nothing: what a burst has left lies for two minutes, until
// Go collects by itself, and most of it stays mapped after that. So once a burst has ended
// memory is given back, and never while there is work. A process that gets no processor
// looks like one that rests, in the middle of a burst: so memory is given back some times
// more, after pauses that become longer, until there is a burst again.
const (
	restTick = time.Second
	// busyShare is the part of one processor beyond which a tick is one of a burst: probes,
	// scrapes and the look-ups of jobs take less.
	busyShare = 10 // percent
	// restsAfter is how long nothing is to be done: longer than it takes until idle
	// connections have given up their buffers.
	restsAfter = 8 * time.Second
	// leastGain is what is worth a collection, and a quarter of what is mapped is.
	leastGain = 16 << 20
	// afterABurst is how often memory is given back after a burst.
	afterABurst = 3
)

// rest gives memory back.
type rest struct {
	used  func() time.Duration // processor time
	state func() memory
	free  func()

	last  time.Duration // used, at the last tick
	quiet time.Duration // since the last burst
	next  time.Duration // how long it has to be quiet until memory is given back
	left  int           // how often that is to be done yet
}

// memory is what the process has from the system.
type memory struct {
	mapped uint64
	idle   uint64 // is known to be free, or was allocated since the last collection
}

func newRest() *rest {
	return &rest{used: processorTime, state: readMemory, free: GiveBack, last: processorTime(), next: restsAfter, left: afterABurst}
}

// GiveBack gives unused memory back at once. It collects twice: pools give up what they
// hold at the second collection.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}

// run looks once a tick until stop is closed.
func (r *rest) run(stop <-chan struct{}) {
	ticker := time.NewTicker(restTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			now := time.Now() // ticks are late where the processor is busy
			r.tick(now.Sub(last))
			last = now
		}
	}
}

// tick gives memory back if the process rests, and has something to give: after a burst
// only a collection can tell. elapsed is the time since the last tick.
func (r *rest) tick(elapsed time.Duration) {
	used := r.used()
	spent := used - r.last
	r.last = used
	if spent > elapsed*busyShare/100 {
		r.quiet, r.next, r.left = 0, restsAfter, afterABurst
		return
	}
	if r.quiet += restTick; r.quiet < r.next {
		return
	}
	m := r.state()
	gain := max(leastGain, m.mapped/4)
	if m.idle < gain && (r.left == 0 || m.mapped < 2*gain) {
		return
	}
	r.free()
	r.last = r.used() // what this took is no burst
	r.next, r.left = 2*r.quiet, max(r.left-1, 0)
}

// readMemory asks the runtime, which does not stop for it.
func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	of := make([]uint64, len(samples))
	for i, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			of[i] = s.Value.Uint64()
		}
	}
	total, released, free, objects, live := of[0], of[1], of[2], of[3], of[4]
	return memory{mapped: total - released, idle: free + objects - min(objects, live)}
}
