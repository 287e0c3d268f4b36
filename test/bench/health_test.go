package bench

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"portico/regions/health"
)

// The cost of choosing among four addresses for a call: taking them in turn by a plain
// index; choosing the less busy of two healthy ones; the same while one is out and
// another in its slow start; and with all reports about the call, and the clock that
// these need.
func BenchmarkChooseAddress(b *testing.B) {
	const addresses = 4
	settings := health.Settings{
		Failures: 5, Open: time.Hour, MaxOpen: time.Hour, Unhealthy: 3, Healthy: 2, ErrorRatio: 0.5, SlowFactor: 5, Calls: 20,
		Window: 10 * time.Second, Eject: 30 * time.Second, MaxEject: 5 * time.Minute, MaxEjectedShare: 0.5, SlowStart: time.Hour,
	}
	newSet := func() *health.Set {
		var names []string
		for i := range addresses {
			names = append(names, fmt.Sprintf("https://a%d.example", i))
		}
		return health.New(settings, nil).Set("westus", names...)
	}
	choose := func(b *testing.B, set *health.Set, now time.Duration) health.Choice {
		c, ok, err := set.Choose(now, rand.Uint64(), 0)
		if !ok || err != nil {
			b.Fatal(ok, err)
		}
		return c
	}
	var taken atomic.Uint64
	b.Run("plain-index", func(b *testing.B) {
		b.ReportAllocs()
		var next atomic.Uint32
		for b.Loop() {
			taken.Store(uint64(next.Add(1)-1) % addresses)
		}
	})
	b.Run("choose", func(b *testing.B) {
		b.ReportAllocs()
		set := newSet()
		for b.Loop() {
			choose(b, set, time.Minute).Release()
		}
	})
	b.Run("choose-among-the-rest", func(b *testing.B) {
		b.ReportAllocs()
		set := newSet()
		all := set.Addresses()
		for range 3 {
			all[0].RecordProbe(time.Minute, health.ProbeFailed, "")
			all[1].RecordProbe(time.Minute, health.ProbeFailed, "")
		}
		for range 2 {
			all[1].RecordProbe(time.Minute, health.ProbeSucceeded, "")
		}
		for b.Loop() {
			choose(b, set, 2*time.Minute).Release()
		}
	})
	b.Run("a-whole-call", func(b *testing.B) {
		b.ReportAllocs()
		set, epoch := newSet(), time.Now()
		for b.Loop() {
			began := time.Since(epoch)
			c := choose(b, set, began)
			now := time.Since(epoch)
			c.Answered(now, now-began, 200)
			c.Release()
		}
	})
	b.Run("a-whole-call-of-many", func(b *testing.B) {
		b.ReportAllocs()
		set, epoch := newSet(), time.Now()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				began := time.Since(epoch)
				c := choose(b, set, began)
				now := time.Since(epoch)
				c.Answered(now, now-began, 200)
				c.Release()
			}
		})
	})
}
