package blows

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"portico/test/harness"
)

// receiver takes the events that gateways send, and remembers of each what it says.
type receiver struct {
	url, ca, secret string

	mu    sync.Mutex
	taken map[string]bool
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{taken: map[string]bool{}}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	r.url, r.ca, r.secret = server.URL, filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "secret")
	harness.OK(t, os.WriteFile(r.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	harness.OK(t, os.WriteFile(r.secret, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), 0o600))
	return r
}

// sink is the configuration of a sink that sends everything to the receiver.
func (r *receiver) sink() string {
	return fmt.Sprintf("events:\n  sinks:\n    - {name: all, url: %q, ca: %q, secretFile: %q, backoff: 20ms, maxBackoff: 200ms}\n", r.url, r.ca, r.secret)
}

// event is what is compared of an event.
type event struct {
	ID, Type, Subject, Sequence string
	Data                        struct {
		Status string
		Exists *bool // nil: the event does not tell
	}
}

func (e event) line() string {
	return fmt.Sprint(e.Type, " ", strings.ToLower(e.Subject), " ", e.Data.Status)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender was killed
	}
	var events []event
	if strings.HasPrefix(strings.TrimSpace(string(body)), "{") {
		body = []byte("[" + string(body) + "]")
	}
	if err := json.Unmarshal(body, &events); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		r.taken[e.line()] = true
	}
	w.WriteHeader(http.StatusNoContent)
}

// of lists what was taken of a subscription.
func (r *receiver) of(sub string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range r.taken {
		if strings.Contains(line, sub) {
			lines = append(lines, line)
		}
	}
	return lines
}
