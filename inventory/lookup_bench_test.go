package inventory

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkCachedLookup looks up what memory knows, and beside it the same keys
// in a plain map, in turns: the fastest turn of each is compared, since what
// else the machine does only ever adds.
func BenchmarkCachedLookup(b *testing.B) {
	const entries = 50_000
	s := openBench(b, Options{
		DSN: b.TempDir() + "/b.db", SendWithin: 1, CallLimit: 1, CacheTTL: 1 << 50, CacheEntries: 2 * entries,
	})
	ctx, asked := b.Context(), time.Now()
	keys, plain := make([][]byte, entries), make(map[string]Located)
	for i := range keys {
		keys[i] = []byte(vmWrite("a-resource-group", fmt.Sprint("a-virtual-machine-", i)).Key)
		located := Located{Region: "westus", Type: "contoso.compute/virtualmachines", Found: true}
		plain[string(keys[i])] = located
		at := s.locations.places.of(keys[i])
		s.locations.keep(at, located, s.locations.change(at).Load(), asked)
	}
	for _, c := range []struct {
		name string
		step int
	}{{"one key", 0}, {"all keys", 7919}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			cache, peer := newTurns(), newTurns()
			for i := 0; b.Loop(); {
				from := i
				cache.take(func() {
					for range turn {
						if found, err := s.Locations().Locate(ctx, "s", keys[i], asked); err != nil || !found.Cached {
							b.Fatal("absent", err)
						}
						i = (i + c.step) % len(keys)
					}
				})
				i = from
				peer.take(func() {
					for range turn {
						if found := plain[string(keys[i])]; !found.Found {
							b.Fatal("absent")
						}
						i = (i + c.step) % len(keys)
					}
				})
			}
			b.ReportMetric(cache.nanos(), "ns/lookup")
			b.ReportMetric(cache.nanos()/peer.nanos(), "times-a-map")
			promise(b, cache.nanos() <= 4*peer.nanos(), "a cached lookup costs more than 4 times one in a map")
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
	begun := time.Now()
	run()
	t.least = min(t.least, time.Since(begun))
}

// nanos is the time of one lookup in the fastest turn.
func (t *turns) nanos() float64 { return float64(t.least) / turn }
