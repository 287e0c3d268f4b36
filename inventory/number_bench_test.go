package inventory

import (
	"testing"
	"time"

	"portico/inventory/engine"
	"portico/test/harness"
)

// BenchmarkNumber numbers the events of creates by few writers, which no one has read.
// Reported is what one event takes, and the processor time of this process in it.
func BenchmarkNumber(b *testing.B) {
	for _, driver := range []string{engine.SQLite, engine.Postgres} {
		b.Run(driver, func(b *testing.B) {
			s := openBench(b, benchOptions(b, driver)())
			const writers, each, all = 4, 500, 4 * 500
			number := func() int {
				n, err := s.Events.Number(b.Context(), 2*all)
				harness.OK(b, err)
				return n
			}
			number() // those of the group
			var took, used time.Duration
			rounds := 0
			for ; b.Loop(); rounds++ {
				b.StopTimer()
				createAll(b, s, rounds, writers, each)
				b.StartTimer()
				started, before := time.Now(), harness.ProcessorTime()
				if n := number(); n != all {
					b.Errorf("%d events of %d creates were numbered", n, all)
				}
				took, used = took+time.Since(started), used+harness.ProcessorTime()-before
			}
			numbered := float64(rounds * all)
			b.ReportMetric(float64(took.Microseconds())/numbered, "µs/event")
			b.ReportMetric(float64(used.Microseconds())/numbered, "CPU-µs/event")
		})
	}
}
