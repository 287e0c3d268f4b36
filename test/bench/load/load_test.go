package load

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	for _, c := range []struct {
		times    []time.Duration
		p50, p99 time.Duration
	}{
		{nil, 0, 0},
		{[]time.Duration{7}, 7, 7},
		{[]time.Duration{4, 1, 3, 2}, 2, 4},
		{hundred(), 50, 99},
		{append(hundred(), 1000), 51, 100},
	} {
		if p50, p99 := percentile(c.times, 0.5), percentile(c.times, 0.99); p50 != c.p50 || p99 != c.p99 {
			t.Errorf("of %v: %d and %d, want %d and %d", c.times, p50, p99, c.p50, c.p99)
		}
	}
}

func hundred() []time.Duration {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i))
	}
	return times
}

func TestWhatWrkSays(t *testing.T) {
	const talk = "Running 1s test @ http://127.0.0.1:1\n  12 requests in 1.00s\n"
	want := Result{Requests: 1200, Elapsed: 1001 * time.Millisecond, P50: 250 * time.Microsecond, P99: 9 * time.Millisecond}
	for _, c := range []struct {
		output  string
		refused bool
		good    bool
	}{
		{talk + "counted: 1200 1001000 0 0 250\n9000\n", false, true},
		{talk + "counted: 1200 1001000 0 1200 250\n9000\n", true, true},
		{talk + "counted: 1200 1001000 0 1 250\n9000\n", false, false}, // an answer of an error
		{talk + "counted: 1200 1001000 0 0 250\n9000\n", true, false},  // an answer that is none
		{talk + "counted: 1200 1001000 3 0 250\n9000\n", false, false}, // broken connections
		{talk + "counted: 0 1001000 0 0 0\n0\n", false, false},         // nothing at all
		{talk + "counted: 1200 nan 0 0 250\n9000\n", false, false},     // no number
		{"unable to connect to 127.0.0.1:1 Connection refused\n", false, false},
	} {
		got, err := readWrk(c.output, c.refused)
		if c.good && (err != nil || got != want) || !c.good && err == nil {
			t.Errorf("%q: %v, %v", c.output, got, err)
		}
	}
}

func TestWhatH2loadSays(t *testing.T) {
	const talk = "starting benchmark...\nApplication protocol: h2\n\nfinished in 1.00s, 8193.00 req/s, 1.2MB/s\n"
	const good = "requests: 8193 total, 8257 started, 8193 done, 8193 succeeded, 0 failed, 0 errored, 0 timeout\n"
	got, err := readH2load(talk+good, time.Second)
	if err != nil || got.Requests != 8193 || got.Rate() != 8193 {
		t.Errorf("%v, %v", got, err)
	}
	for _, output := range []string{
		"", talk, good,
		strings.Replace(talk, "h2", "http/1.1", 1) + good,
		talk + strings.Replace(good, "8193 succeeded, 0 failed", "8192 succeeded, 1 failed", 1),
		talk + strings.ReplaceAll(good, "8193", "0"),
	} {
		if got, err := readH2load(output, time.Second); err == nil {
			t.Errorf("%q: %v", output, got)
		}
	}
}

// Requests that a stall delays have waited since they were due.
func TestOpenCountsFromWhenARequestWasDue(t *testing.T) {
	const stall = 400 * time.Millisecond
	var first sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		first.Do(func() { time.Sleep(stall) })
	}))
	defer server.Close()
	// Half of them are due within the first 100 ms.
	load := Open{URL: server.URL, Connections: 1, Rate: 100, For: 200 * time.Millisecond, Request: Request{Method: "GET", Paths: []string{"/"}}}
	got, err := load.Run(t.Context())
	if err != nil || got.Requests != 20 || got.P50 < stall-100*time.Millisecond || got.P99 < stall {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOpenFailsWhereAnAnswerIsAnError(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"broken": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(handler)
		load := Open{URL: server.URL, Connections: 2, Rate: 100, For: 50 * time.Millisecond, Request: Request{Method: "GET", Paths: []string{"/"}}}
		if got, err := load.Run(t.Context()); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
		server.Close()
	}
}

func TestOpenSendsEachPathAndToken(t *testing.T) {
	seen, server := record(t)
	load := Open{
		URL: server.URL, Connections: 2, Rate: 100, For: 100 * time.Millisecond,
		Request: Request{Method: "GET", Paths: []string{"/a?x=1", "/b"}, Tokens: []string{"one", "two", "three"}},
	}
	if got, err := load.Run(t.Context()); err != nil || got.Requests != 10 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []string{"GET /a?x=1 one", "GET /a?x=1 three", "GET /b two"}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWrkSendsEachPathAndToken(t *testing.T) {
	harness.Installed(t, "wrk")
	// Each run has its own server: handlers may outlive wrk.
	run := func(r Request) (Result, []string) {
		t.Helper()
		seen, server := record(t)
		got, err := Closed{URL: server.URL, Connections: 4, Threads: 2, For: time.Second, Request: r}.Run(t.Context(), t.TempDir())
		if err != nil || got.P50 <= 0 || got.P99 < got.P50 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got, seen()
	}
	_, paths := run(Request{Method: "GET", Paths: []string{"/a?x=1", "/b"}, Tokens: []string{"one", "two"}})
	if want := []string{"GET /a?x=1 one", "GET /b two"}; !slices.Equal(paths, want) {
		t.Errorf("%q, want %q", paths, want)
	}
	got, paths := run(Request{Method: "PUT", Paths: []string{"/new%d"}, Fresh: true, Tokens: []string{"one"}, Body: `{"a":"%d"}`})
	if len(paths) < got.Requests || !strings.HasPrefix(paths[0], "PUT /new") || !strings.HasSuffix(paths[0], ` one {"a":"%d"}`) {
		t.Errorf("%d different paths in %d requests, such as %q", len(paths), got.Requests, paths[0])
	}
}

// record starts a server; seen returns the distinct requests that it received.
func record(t *testing.T) (seen func() []string, server *httptest.Server) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]bool{}
	server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := make([]byte, max(0, r.ContentLength))
		_, _ = r.Body.Read(body)
		line := strings.TrimSpace(r.Method + " " + r.RequestURI + " " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + " " + string(body))
		mu.Lock()
		defer mu.Unlock()
		got[line] = true
	}))
	t.Cleanup(server.Close)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		var all []string
		for line := range got {
			all = append(all, line)
		}
		slices.Sort(all)
		return all
	}, server
}
