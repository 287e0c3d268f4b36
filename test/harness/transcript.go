package harness

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// transcript stores the output of a process on one stream and lets others wait for a
// line. It is the process's io.Writer.
type transcript struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{} // closed and replaced by each write
}

func newTranscript() *transcript {
	return &transcript{changed: make(chan struct{})}
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	close(s.changed)
	s.changed = make(chan struct{})
	return len(p), nil
}

// String returns everything printed so far.
func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// waitLine returns the first whole line with this prefix, as soon as it is there. It
// gives up when ctx ends or ended is closed.
func (s *transcript) waitLine(ctx context.Context, prefix string, ended <-chan struct{}) (string, error) {
	for {
		s.mu.Lock()
		line, ok := findLine(s.text, prefix)
		changed := s.changed
		s.mu.Unlock()
		if ok {
			return line, nil
		}
		select {
		case <-changed:
		case <-ended:
			if line, ok := findLine([]byte(s.String()), prefix); ok {
				return line, nil
			}
			return "", fmt.Errorf("the process ended before it printed a line beginning with %q", prefix)
		case <-ctx.Done():
			return "", fmt.Errorf("no line beginning with %q: %w", prefix, ctx.Err())
		}
	}
}

func findLine(text []byte, prefix string) (string, bool) {
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return "", false
		}
		if bytes.HasPrefix(line, []byte(prefix)) {
			return string(line), true
		}
		text = rest
	}
}
