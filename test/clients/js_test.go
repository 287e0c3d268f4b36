package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"portico/test/harness"
)

// jsBound is how long all tests of the SDK for JavaScript may take.
const jsBound = 8 * time.Minute

// jsSecond is a second subscription of the tenant, for what concerns two.
const jsSecond = "00000000-0000-0000-0000-000000000002"

// jsOnly picks tests, as -run cannot: node has run them when it hears of them.
var jsOnly = flag.String("js.only", "", "run only those tests of the SDK for JavaScript whose names match this expression")

// jsEnd is what js/reporter.mjs prints of a test that ended.
type jsEnd struct {
	Name    string
	Passed  bool
	Seconds float64
	Failure string
}

// The Azure SDK for JavaScript, in two generations: each test of js/main.mjs is
// a subtest.
func TestAzureSDKForJavaScript(t *testing.T) {
	if _, err := os.Stat(filepath.Join("js", "node_modules")); err != nil {
		t.Fatalf("the SDK is not installed, test/clients/prepare.sh does it: %v", err)
	}
	s := newStand(t, harness.WorldOptions{Config: harness.Config{
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Demo", State: "Enabled"},
			{ID: jsSecond, TenantID: harness.TenantID, DisplayName: "Second", State: "Enabled"},
		},
		InsightRegistration: "required",
		Extra:               "operations: {retryAfterMin: 1s, retryAfterMax: 1s}\nupstream: {callTimeout: 10s}\nindex: {sendWithin: 5s}",
	}})
	restarts := make(chan chan<- struct{})
	control := httptest.NewServer(restartsOf(restarts))
	t.Cleanup(control.Close)

	ctx, cancel := context.WithTimeout(t.Context(), jsBound)
	t.Cleanup(cancel)
	args := []string{"--test-reporter", "./reporter.mjs", "--test-reporter-destination", "stdout"}
	if *jsOnly != "" {
		args = append(args, "--test-name-pattern", *jsOnly)
	}
	command := exec.CommandContext(ctx, "node", append(args, "main.mjs")...)
	command.Dir = "js"
	command.Env = append(os.Environ(), jsEnvironment(t, s, control.URL)...)
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	harness.OK(t, err)
	harness.OK(t, command.Start())
	ends := make(chan jsEnd)
	unread := make(chan error, 1)
	go func() {
		defer close(ends)
		unread <- readEnds(ctx, stdout, ends)
	}()

	passed := 0
	for open := true; open; {
		select {
		case done := <-restarts:
			s.Portico.Kill(t)
			s.Portico.Restart(t)
			close(done)
		case end, more := <-ends:
			if open = more; !more {
				break
			}
			if end.Passed {
				passed++
			}
			t.Run(end.Name, func(t *testing.T) {
				t.Logf("%.1f s", end.Seconds)
				if !end.Passed {
					t.Error(end.Failure)
				}
			})
		}
	}
	if err := <-unread; err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err != nil && !t.Failed() {
		t.Errorf("node: %v", err)
	}
	if passed == 0 {
		t.Error("no test was run")
	}
}

// restartsOf has the test restart the gateway: only its own goroutine may end
// it.
func restartsOf(requests chan<- chan<- struct{}) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST /restart", func(w http.ResponseWriter, r *http.Request) {
		done := make(chan struct{})
		select {
		case requests <- done:
		case <-r.Context().Done():
			return
		}
		select {
		case <-done:
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	})
	return m
}

// readEnds reads what ended until there is no more.
func readEnds(ctx context.Context, from io.Reader, ends chan<- jsEnd) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var end jsEnd
		if err := json.Unmarshal(lines.Bytes(), &end); err != nil {
			return err
		}
		select {
		case ends <- end:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return lines.Err()
}

// jsEnvironment is what js/stand.mjs asks for, and what has node trust the
// gateway and call it without a proxy.
func jsEnvironment(t *testing.T, s stand, control string) []string {
	t.Helper()
	regions := map[string]string{}
	for _, name := range harness.RegionNames() {
		regions[name] = s.Contoso(name).URL
	}
	addresses, err := json.Marshal(regions)
	harness.OK(t, err)
	return []string{
		"NODE_EXTRA_CA_CERTS=" + s.Bundle,
		"NO_PROXY=127.0.0.1",
		"PORTICO_URL=" + s.Portico.URL,
		"PORTICO_TOKEN=" + s.Token,
		"PORTICO_SUBSCRIPTION=" + s.SubscriptionID,
		"PORTICO_SECOND_SUBSCRIPTION=" + jsSecond,
		"PORTICO_VERSION=" + harness.Version,
		"PORTICO_REGIONS=" + string(addresses),
		"PORTICO_CONTROL=" + control,
	}
}
