package operator

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// lines are what a command that goes on has written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait waits until a text was written so often.
func (l *lines) wait(t *testing.T, text string, times int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(l.String(), text) < times; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not there %d times:\n%s", text, times, l.String())
		}
	}
}
