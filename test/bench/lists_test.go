package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/harness"
)

// Wall time of a list over N regions that each take 200 ms, beside a call to one of
// them: all are called at once, so it is little more than the time of one.
func BenchmarkListTime(b *testing.B) {
	for _, n := range []int{1, 8, 50} {
		b.Run(fmt.Sprintf("%d-regions", n), func(b *testing.B) {
			c := newCloud(b, n, 200*time.Millisecond)
			c.holds(60<<10, 1)
			c.get(b, c.portico.URL+listPath) // connections are open from here on
			var merged, single time.Duration
			for b.Loop() {
				started := time.Now()
				c.get(b, c.portico.URL+listPath)
				merged += time.Since(started)
				started = time.Now()
				c.get(b, c.urls[0]+listPath)
				single += time.Since(started)
			}
			b.ReportMetric(float64(merged)/float64(single), "x-single-region")
		})
	}
}

// Processor time per MiB of a merged list, beside a Go program that decodes and
// encodes, and beside nginx passing the same bytes on.
func BenchmarkListProcessorTime(b *testing.B) {
	const regions, lists = 8, 40
	c := newCloud(b, regions, 0)
	c.holds(1<<20, 1)
	merger := peers.StartMerger(b, c.urls)
	through := func(url string, n int) func() int64 {
		return func() (bytes int64) {
			for range n {
				bytes += c.get(b, url+listPath)
			}
			return bytes
		}
	}
	compared := []*peer{{pid: c.portico.Pid(), read: through(c.portico.URL, 1)}, {pid: merger.PID, read: through(merger.URL, 1)}}
	if harness.FindInstalled("nginx") == "" {
		b.Log("nginx is not installed: not compared with it")
	} else {
		nginx := peers.StartNginx(b, peers.Options{Provider: strings.TrimPrefix(c.urls[0], "http://"), Workers: 1})
		compared = append(compared, &peer{pid: nginx.PID, read: through(nginx.URL, regions)})
	}
	for b.Loop() {
		measure(b, lists, compared)
		own := compared[0].perMiB()
		b.ReportMetric(own/1e6, "ms/MiB")
		b.ReportMetric(compared[1].perMiB()/own, "x-cheaper-than-decoding")
		if len(compared) > 2 {
			b.ReportMetric(own/compared[2].perMiB(), "x-nginx")
		}
	}
}

// peer is a process that serves the same bytes.
type peer struct {
	pid   int
	read  func() int64
	bytes int64
	used  time.Duration
}

func (p *peer) perMiB() float64 { return float64(p.used) / (float64(p.bytes) / (1 << 20)) }

// measure reads from the peers in turn, so that other load on the machine affects all
// of them.
func measure(b *testing.B, rounds int, compared []*peer) {
	b.Helper()
	for _, p := range compared {
		p.read() // warm
		p.bytes, p.used = 0, -cpu(b, p.pid)
	}
	for range rounds {
		for _, p := range compared {
			p.bytes += p.read()
		}
	}
	for _, p := range compared {
		p.used += cpu(b, p.pid)
	}
}

// cpu is the processor time that a process has used so far.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	used, err := peers.CPU(pid)
	if err != nil {
		b.Skipf("processor time is read as Linux shows it: %v", err)
	}
	return used
}

// The peak of memory does not grow with the length of a list. With PORTICO_BENCH_LONG=1
// the longest list has 512 MiB.
func BenchmarkListMemory(b *testing.B) {
	const regions, page = 8, 128 << 10 // a merged page has 1 MiB
	lengths := []int{1, 32}
	if os.Getenv("PORTICO_BENCH_LONG") != "" {
		lengths = append(lengths, 512)
	}
	c := newCloud(b, regions, 0)
	// The memory that a process keeps after its first pages does not depend on length.
	c.holds(page, 32)
	c.walk(b)
	for b.Loop() {
		var first float64
		for _, length := range lengths {
			c.holds(page, length)
			if err := peers.ForgetPeak(c.portico.Pid()); err != nil {
				b.Skipf("the peak of memory cannot be measured anew: %v", err)
			}
			size, pages := c.walk(b)
			if pages != length || size < int64(length)<<20 {
				b.Fatalf("%d bytes on %d pages", size, pages)
			}
			_, peak, err := peers.Memory(c.portico.Pid())
			if err != nil {
				b.Fatal(err)
			}
			used := float64(peak)
			if first == 0 {
				first = used
			}
			b.ReportMetric(used/first, fmt.Sprintf("x-at-%d-MiB", length))
		}
		b.ReportMetric(first/(1<<20), "MiB")
	}
}
