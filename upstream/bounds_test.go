package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// An endpoint that fails for all is asked a fifth more often than it would be
// without retries, and no more.
func TestRetriesAreBudgeted(t *testing.T) {
	p := newPeer(t, statuses("", 503))
	registry := prometheus.NewRegistry()
	client := newClient(t, Options{Metrics: registry})
	const reads, readers = 400, 20
	var wait sync.WaitGroup
	for range readers {
		wait.Go(func() {
			for range reads / readers {
				answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"})
				if err != nil || answer.Status != 503 || !strings.HasPrefix(string(answer.Body), "answer ") {
					t.Errorf("got %d %q, %v", answer.Status, answer.Body, err)
				}
			}
		})
	}
	wait.Wait()
	retries := p.count() - reads
	if retries < 10 || retries > reads/5 {
		t.Errorf("%d retries of %d reads", retries, reads)
	}
	counted := client.metrics.retries.MustCurryWith(prometheus.Labels{"region": p.endpoint().Region})
	if sent := testutil.ToFloat64(counted.WithLabelValues("sent")); int(sent) != retries || testutil.ToFloat64(counted.WithLabelValues("refused")) == 0 {
		t.Errorf("%v counted, %d sent", sent, retries)
	}
	// What its caller calls a repetition takes from the same budget.
	if _, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/", IsRetry: true}); !errors.Is(err, ErrOverBudget) {
		t.Errorf("got %v", err)
	}
	// Another endpoint has a budget of its own.
	other := newPeer(t, statuses("", 503, 200))
	if answer, err := client.Read(context.Background(), Call{Endpoint: other.endpoint(), Path: "/", IsRetry: true}); err != nil || answer.Status != 200 {
		t.Errorf("got %+v, %v", answer, err)
	}
}

// Reads of one endpoint are so many at a time, until their answers are read.
func TestConcurrentReadsAreBounded(t *testing.T) {
	var open, most atomic.Int64
	p := newPeer(t, func(_ int, conn net.Conn) bool {
		n := open.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
		time.Sleep(2 * time.Millisecond)
		open.Add(-1)
		_, err := io.WriteString(conn, "{}")
		return err == nil
	})
	client := newClient(t, Options{Readers: 3})
	var wait sync.WaitGroup
	for range 30 {
		wait.Go(func() {
			if _, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if most.Load() > 3 {
		t.Errorf("%d at a time", most.Load())
	}
}

// A read that waits for its turn ends with its caller, and sends nothing.
func TestReadThatWaitsForItsTurn(t *testing.T) {
	release := make(chan struct{})
	p := newPeer(t, func(_ int, conn net.Conn) bool {
		<-release
		_, err := io.WriteString(conn, empty200)
		return err == nil
	})
	client := newClient(t, Options{Readers: 1})
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"}); err != nil {
			t.Error(err)
		}
	})
	for p.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Read(ctx, Call{Endpoint: p.endpoint(), Path: "/"})
	if fault := faultOf(t, err); fault.Sent || !fault.Timeout() || p.count() != 1 {
		t.Errorf("got %+v", fault)
	}
	close(release)
	wait.Wait()
}

// Room is asked for before it is made: all at once where the length is known,
// as the answer grows where it is not.
func TestReadReservesMemory(t *testing.T) {
	body := strings.Repeat("x", 100_000)
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	known := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	full := errors.New("full")
	for name, c := range map[string]struct {
		answer   string
		limit    int64
		reserved []int64
		most     int64
	}{
		"known":           {known, 1 << 20, []int64{100_000}, 0},
		"grows":           {chunked, 1 << 20, []int64{16 << 10, 16 << 10, 32 << 10, 64 << 10}, 0},
		"up to the limit": {chunked, 100_000, []int64{16 << 10, 16 << 10, 32 << 10, 100_001 - 64<<10}, 0},
		"packed":          {gzipAnswer("gzip", zipped(t, []byte(body))), 1 << 20, []int64{16 << 10, 16 << 10, 32 << 10, 64 << 10}, 0},
		"known, no room":  {known, 1 << 20, []int64{100_000}, 99_999},
		"grows, no room":  {chunked, 1 << 20, []int64{16 << 10, 16 << 10, 32 << 10}, 40_000},
		"known, too long": {known, 99_999, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, reply(c.answer))
			client := newClient(t, Options{MaxAnswer: c.limit})
			var reserved []int64
			var sum int64
			answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/", Reserve: func(_ context.Context, n int64) error {
				reserved = append(reserved, n)
				if sum += n; c.most > 0 && sum > c.most {
					return full
				}
				return nil
			}})
			if fmt.Sprint(reserved) != fmt.Sprint(c.reserved) {
				t.Errorf("asked for %d, want %d", reserved, c.reserved)
			}
			switch {
			case c.most > 0 && !errors.Is(err, full), c.reserved == nil && !errors.Is(err, ErrTooLarge):
				t.Errorf("got %v", err)
			case c.most == 0 && c.reserved != nil && (err != nil || string(answer.Body) != body):
				t.Errorf("got %d bytes, %v", len(answer.Body), err)
			}
			// Nothing of an answer that was left hangs on to its turn.
			if _, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"}); err != nil && c.reserved != nil {
				t.Error(err)
			}
		})
	}
}
