package sendguard

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endNow lets the time of the request be over whose bytes a connection carries.
func endNow(t *testing.T, c *Conn, back func(time.Time) time.Time) {
	t.Helper()
	s := c.guard.Load()
	if s == nil {
		t.Fatal("the connection carries no request")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = back(s.started)
}

func hourAgo(since time.Time) time.Time       { return since.Add(-time.Hour) }
func hourAgoByWall(since time.Time) time.Time { return since.Round(0).Add(-time.Hour) }

func TestLaterBytesAreHeldToTheEnd(t *testing.T) {
	for name, back := range map[string]func(time.Time) time.Time{"monotonic clock": hourAgo, "wall clock": hourAgoByWall} {
		t.Run(name, func(t *testing.T) {
			s := &Guard{started: time.Now(), firstByteWithin: time.Minute, lastByteWithin: 30 * time.Minute}
			conn := &Conn{Conn: discardingConn{}}
			conn.guard.Store(s)
			if n, err := conn.Write([]byte("abc")); n != 3 || err != nil {
				t.Fatalf("the first bytes: %d, %v", n, err)
			}
			endNow(t, conn, func(since time.Time) time.Time { return since.Add(-10 * time.Minute) })
			if n, err := conn.Write([]byte("abc")); n != 3 || err != nil {
				t.Fatalf("past the time for the first byte alone: %d, %v", n, err)
			}
			endNow(t, conn, back)
			if n, err := conn.Write([]byte("abc")); n != 0 || !errors.Is(err, ErrCutOff) || !s.Sent() || s.RetryStale() {
				t.Errorf("past the end: %d, %v", n, err)
			}
		})
	}
}

// wrapping is a connection around the one with the socket.
type wrapping struct{ net.Conn }

func (w wrapping) NetConn() net.Conn { return w.Conn }

// guardedPair is a guarded connection and its reader.
func guardedPair(t *testing.T) (conn *Conn, reader net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialled, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	if reader, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return NewConn(wrapping{dialled}), reader
}

// A single large write that waits for its reader ends where it was when the
// time was over, even though the connection takes bytes again.
func TestLargeWriteIsBrokenOff(t *testing.T) {
	conn, reader := guardedPair(t)
	s := &Guard{started: time.Now(), lastByteWithin: 30 * time.Minute}
	conn.guard.Store(s)
	content := make([]byte, 64<<20)
	var wrote int
	var failed error
	var writing sync.WaitGroup
	writing.Go(func() {
		wrote, failed = conn.Write(content)
		conn.Close()
	})
	within(t, "the first bytes", s.Sent)
	endNow(t, conn, hourAgo)
	arrived, err := io.Copy(io.Discard, reader)
	writing.Wait()
	if err != nil || int64(wrote) != arrived || wrote == len(content) || !errors.Is(s.WithDeadlineError(failed), s.lateErr) || s.lateErr == nil {
		t.Errorf("%d of %d bytes written, %d arrived: %v, %v", wrote, len(content), arrived, failed, err)
	}
}

// Nor does a byte leave that has begun to wait before the time was over.
func TestWriteThatWaitsIsRefused(t *testing.T) {
	conn, reader := guardedPair(t)
	filled := fill(t, conn.Conn)
	s := &Guard{started: time.Now(), lastByteWithin: 30 * time.Minute}
	conn.guard.Store(s)
	var wrote int
	var failed error
	var writing sync.WaitGroup
	writing.Go(func() {
		wrote, failed = conn.Write([]byte("x"))
		conn.Close()
	})
	within(t, "that it waits", writeWaits)
	endNow(t, conn, hourAgo)
	arrived, err := io.Copy(io.Discard, reader)
	writing.Wait()
	if err != nil || wrote != 0 || arrived != filled || failed == nil || s.Sent() || !errors.Is(s.WithDeadlineError(failed), ErrTooLate) {
		t.Errorf("%d bytes written, %d arrived after %d: %v, %v", wrote, arrived-filled, filled, failed, err)
	}
}

// writeWaits reports whether a goroutine waits for a guarded connection to take
// bytes.
func writeWaits() bool {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "sendguard.(*Conn).Write(") && strings.Contains(stack, "[IO wait") {
			return true
		}
	}
	return false
}

// fill writes to a connection that no one reads until it takes nothing more.
func fill(t *testing.T, conn net.Conn) (filled int64) {
	t.Helper()
	for _, size := range []int{64 << 20, 1} { // what has no room for much may have some for a byte
		for wrote := -1; wrote != 0; filled += int64(wrote) {
			if err := conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			wrote, _ = conn.Write(make([]byte, size))
		}
	}
	if err := conn.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	return filled
}

// No way of writing goes past the guard.
func TestGuardHidesOtherWrites(t *testing.T) {
	var conn net.Conn = &Conn{}
	if _, past := conn.(io.ReaderFrom); past {
		t.Error("bytes are read from their source past the guard")
	}
}

// Whatever the transport tries, the connection that took the first byte stays
// the only one.
func TestSecondConnectionIsRefused(t *testing.T) {
	s := &Guard{}
	first, second := &Conn{Conn: discardingConn{}}, &Conn{Conn: discardingConn{}}
	first.guard.Store(s)
	second.guard.Store(s)
	for range 2 {
		if n, err := first.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if n, err := second.Write([]byte("abc")); n != 0 || !errors.Is(err, ErrSecondSend) || !s.Sent() || s.RetryStale() {
		t.Errorf("got %d, %v", n, err)
	}
}

// discarding is a connection that takes everything.
type discardingConn struct{ net.Conn }

func (discardingConn) Write(p []byte) (int, error) { return len(p), nil }

// A write that does not wait ends where it would have to, and takes nothing back of
// what has left.
func TestTryWrite(t *testing.T) {
	conn, reader := guardedPair(t)
	if n, err := conn.TryWrite([]byte("abc")); n != 0 || err != nil {
		t.Errorf("without a request: %d, %v", n, err)
	}
	s := &Guard{}
	s.Set(time.Now(), time.Minute, time.Minute)
	s.Attach(conn, true)
	content := make([]byte, 64<<20)
	n, err := conn.TryWrite(content)
	if n <= 0 || n == len(content) || err != nil || !s.Sent() {
		t.Errorf("%d of %d bytes, %v", n, len(content), err)
	}
	if arrived, err := io.CopyN(io.Discard, reader, int64(n)); err != nil {
		t.Errorf("%d of %d bytes arrived: %v", arrived, n, err)
	}
	s.Set(time.Now().Add(-time.Hour), time.Minute, time.Minute)
	if n, err := conn.TryWrite(content); n != 0 || !errors.Is(err, ErrCutOff) {
		t.Errorf("past the end: %d, %v", n, err)
	}
}

// Where nothing could be written at once, nothing was: the request is unsent, and its
// connection as good as before.
func TestTryWriteThatWritesNothing(t *testing.T) {
	conn, _ := guardedPair(t)
	fill(t, conn.Conn)
	s := &Guard{}
	for wrote := -1; wrote != 0; { // the socket may have made some room meanwhile
		s = &Guard{}
		s.Attach(conn, true)
		wrote, _ = conn.TryWrite([]byte("x"))
	}
	if n, err := conn.TryWrite([]byte("x")); n != 0 || err != nil || s.Sent() || s.RetryStale() {
		t.Errorf("%d, %v, sent %v", n, err, s.Sent())
	}
}

// within waits until something holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}
