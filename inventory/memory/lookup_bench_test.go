package memory

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// BenchmarkCachedLookup looks up what memory knows, and beside it the same keys
// in a plain map, in turns: the fastest turn of each is compared, since what
// else the machine does only ever adds.
func BenchmarkCachedLookup(b *testing.B) {
	const entries = 50_000
	c := newCacheFor(b, 2*entries, 1<<50)
	ctx, now := b.Context(), time.Now()
	keys, plain := make([][]byte, entries), make(map[string]Located)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "/subscriptions/s/resourceGroups/a-resource-group/providers/Contoso.Compute/virtualMachines/a-virtual-machine-%d", i)
		located := Located{Region: "westus", Type: "contoso.compute/virtualmachines", Found: true}
		plain[string(keys[i])] = located
		at := c.keys.Key(keys[i])
		c.remember(at, located, c.counter(at).Load(), now)
	}
	for _, keyed := range []struct {
		name string
		step int
	}{{"one key", 0}, {"all keys", 7919}} {
		b.Run(keyed.name, func(b *testing.B) {
			b.ReportAllocs()
			cache, peer := newTurns(), newTurns()
			for i := 0; b.Loop(); {
				from := i
				cache.take(func() {
					for range turn {
						if found, err := c.Locate(ctx, "s", keys[i], now); err != nil || !found.Cached {
							b.Fatal("absent", err)
						}
						i = (i + keyed.step) % len(keys)
					}
				})
				i = from
				peer.take(func() {
					for range turn {
						if found := plain[string(keys[i])]; !found.Found {
							b.Fatal("absent")
						}
						i = (i + keyed.step) % len(keys)
					}
				})
			}
			b.ReportMetric(cache.nanos(), "ns/lookup")
			b.ReportMetric(cache.nanos()/peer.nanos(), "times-a-map")
			if cache.nanos() > 4*peer.nanos() && os.Getenv("PORTICO_BENCH_CHECK") != "" {
				b.Error("a cached lookup costs more than 4 times one in a map")
			}
		})
	}
}

// turn is how many lookups are timed at once: few enough for some turns to be
// left alone by all else that the machine does.
const turn = 1000

// turns are the times of what is measured in turns with something else.
type turns struct{ least time.Duration }

func newTurns() *turns { return &turns{1 << 62} }

func (t *turns) take(run func()) {
	started := time.Now()
	run()
	t.least = min(t.least, time.Since(started))
}

// nanos is the time of one lookup in the fastest turn.
func (t *turns) nanos() float64 { return float64(t.least) / turn }
