package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
)

// writes notes each write, and may hold it up or fail it.
type writes struct {
	hold chan struct{} // each write waits for it; nil: none does

	mu  sync.Mutex
	all []string
	err error
}

func (w *writes) Write(p []byte) (int, error) {
	if w.hold != nil {
		<-w.hold
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.all = append(w.all, string(p))
	return len(p), nil
}

func (w *writes) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, "")
}

// running runs the access log of a logger that writes to a place; end ends it.
func running(t *testing.T, to io.Writer) (access *zap.Logger, b *Batch, end func()) {
	t.Helper()
	log, err := New("info", to, false)
	if err != nil {
		t.Fatal(err)
	}
	access, b = Access(log)
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { b.Run(ctx) })
	end = sync.OnceFunc(func() { cancel(); wait.Wait() })
	t.Cleanup(end)
	return access, b, end
}

// within waits for something that is bound to happen.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// Access lines have the form that they have without a batch, come in their order,
// and are written together.
func TestAccessLinesAreWrittenTogether(t *testing.T) {
	to := &writes{}
	access, b, end := running(t, to)
	const lines = 50
	for i := range lines {
		access.Info("request", zap.Int("n", i), zap.String("odd", "\u202e\x1b"))
	}
	end()
	var alone bytes.Buffer
	log, err := New("info", &alone, false)
	if err != nil {
		t.Fatal(err)
	}
	log.Named(AccessName).Info("request", zap.Int("n", 0), zap.String("odd", "\u202e\x1b"))
	withoutTime := func(line string) string {
		before, rest, _ := strings.Cut(line, `"ts"`)
		_, after, _ := strings.Cut(rest, `"logger"`)
		return before + after
	}
	got := strings.SplitAfter(to.text(), "\n")
	if len(got) != lines+1 || withoutTime(got[0]) != withoutTime(alone.String()) {
		t.Fatalf("%d lines, the first %q, alone %q", len(got)-1, got[0], alone.String())
	}
	for i, line := range got[:lines] {
		if !strings.Contains(line, fmt.Sprintf(`"n":%d,`, i)) {
			t.Errorf("%d: %s", i, line)
		}
	}
	if len(to.all) > lines/2 || b.Lost() != 0 {
		t.Errorf("%d writes, %d lost", len(to.all), b.Lost())
	}
}

// A line does not wait for others for ever, nor for the end.
func TestAccessLineIsWrittenSoon(t *testing.T) {
	to := &writes{}
	access, _, _ := running(t, to)
	for i := range 3 {
		access.Info("request", zap.Int("n", i))
		within(t, "the line", func() bool { return strings.Contains(to.text(), fmt.Sprintf(`"n":%d}`, i)) })
	}
}

// The level of the log is that of its access lines.
func TestAccessLinesOfALevel(t *testing.T) {
	to := &writes{}
	log, err := New("error", to, false)
	if err != nil {
		t.Fatal(err)
	}
	access, b := Access(log)
	access.Info("request")
	access.Error("failed")
	if err := b.Sync(); err != nil || strings.Contains(to.text(), "request") || !strings.Contains(to.text(), "failed") {
		t.Errorf("%v %s", err, to.text())
	}
}

// Where nothing takes the lines they are lost beyond a bound, and counted; no one
// waits. Later ones are written.
func TestAccessLinesBeyondTheBoundAreCounted(t *testing.T) {
	to := &writes{hold: make(chan struct{})}
	access, b, end := running(t, to)
	text := strings.Repeat("x", 10_000)
	const lines = 3 * batchLimit / 10_000
	for range lines {
		access.Info("request", zap.String("text", text))
	}
	lost := b.Lost()
	if lost < lines/4 || lost >= lines {
		t.Errorf("%d of %d lines are lost", lost, lines)
	}
	close(to.hold)
	within(t, "room", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting) == 0
	})
	access.Info("later")
	end()
	if n := uint64(strings.Count(to.text(), "\n")); n+lost != lines+1 || b.Lost() != lost || !strings.Contains(to.text(), "later") {
		t.Errorf("%d lines are written and %d lost, of %d", n, lost, lines+1)
	}
}

func TestAccessLinesOfAFailedWriteAreCounted(t *testing.T) {
	to := &writes{err: errors.New("full")}
	access, b, end := running(t, to)
	for range 5 {
		access.Info("request")
	}
	end()
	if b.Lost() != 5 {
		t.Errorf("%d lines are lost", b.Lost())
	}
}

// Lines of both kinds and of many goroutines stay whole and are written once.
func TestAccessLinesAmongOthers(t *testing.T) {
	var to bytes.Buffer // not safe for concurrent use
	log, err := New("info", &to, false)
	if err != nil {
		t.Fatal(err)
	}
	access, b := Access(log)
	ctx, cancel := context.WithCancel(t.Context())
	var work, run sync.WaitGroup
	run.Go(func() { b.Run(ctx) })
	for i := range 8 {
		work.Go(func() {
			for k := range 200 {
				access.Info("request", zap.Int("i", i), zap.Int("k", k), zap.String("text", strings.Repeat("y", k*10)))
				if k%20 == 0 {
					log.Warn("other", zap.Int("i", i), zap.Int("k", k))
				}
			}
		})
	}
	work.Wait()
	cancel()
	run.Wait()
	seen := map[string]bool{}
	for line := range strings.Lines(to.String()) {
		var l struct {
			Msg  string
			I, K int
		}
		unmarshal(t, line, &l)
		seen[fmt.Sprint(l)] = true
	}
	if len(seen) != 8*210 {
		t.Errorf("%d lines", len(seen))
	}
}

func unmarshal(t *testing.T, line string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), into); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
}
