package hostile

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

var (
	rawSeed   = flag.Uint64("raw.seed", 0, "the seed of the raw requests; 0: another one each time")
	rawInputs = flag.Int("raw.inputs", 5000, "how many raw requests are made")
)

// rawConnections is how many connections carry them.
const rawConnections = 8

// Whatever bytes arrive at the public listener, only allowed requests reach a provider:
// see forbidden. The same seed makes the same requests.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	seed := *rawSeed
	if seed == 0 {
		seed = rand.Uint64() //nolint:gosec // not a secret
	}
	t.Logf("-raw.seed %d", seed)
	base := "/subscriptions/" + theirs + "/resourceGroups/rgb"
	w.group(t, "rga")
	w.as(t, bob, http.MethodPut, base+api, `{"location":"westus"}`).Want(t, 201)
	for i := range rawNames {
		w.put(t, w.thing("rga", fmt.Sprintf("zza%d", i)))
		w.as(t, bob, http.MethodPut, fmt.Sprintf("%s/providers/Evil.Test/things/zzb%d%s", base, i, api), located("westus")).Want(t, 201)
	}
	faults := &rawFaults{t: t}
	w.provider.Watch(func(r *http.Request) { faults.arrived(r, w.Portico.URL) })

	var group sync.WaitGroup
	statuses := make([]map[int]int, rawConnections)
	for i := range rawConnections {
		group.Go(func() {
			g := &grammar{rand.New(rand.NewPCG(seed, uint64(i))), strings.TrimPrefix(w.Portico.URL, "http://")} //nolint:gosec // it must be repeatable
			statuses[i] = g.send(faults, *rawInputs/rawConnections)
		})
	}
	group.Wait()
	w.provider.Forget()

	all := map[int]int{}
	for _, some := range statuses {
		for status, n := range some {
			all[status] += n
		}
	}
	t.Logf("%d requests reached the provider; answers by status, 0 for none: %v", faults.arrivals, all)
	if faults.arrivals < *rawInputs/20 {
		t.Errorf("only %d of %d requests reached the provider", faults.arrivals, *rawInputs)
	}
	if log := w.Portico.Log(); strings.Contains(log, `"msg":"panic"`) || strings.Contains(log, "panic serving") {
		t.Error("Portico panicked")
	}
	w.as(t, alice, http.MethodGet, "/subscriptions/"+ours+api, "").Want(t, 200)
}

// rawFaults collects faults.
type rawFaults struct {
	t *testing.T

	mu       sync.Mutex
	arrivals int
	seen     map[string]int // by their first words
}

// arrived checks a request that reached a provider.
func (f *rawFaults) arrived(r *http.Request, public string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arrivals++
	for _, wrong := range forbidden(r, public) {
		f.report("reached the provider: "+wrong, fmt.Sprintf("%s %s %v", r.Method, r.RequestURI, r.Header))
	}
}

// answered checks an answer.
func (f *rawFaults) answered(status int, request string) {
	if status == http.StatusInternalServerError {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.report("answered with 500", fmt.Sprintf("%.3000q", request))
	}
}

// report logs the first few faults of each kind. The caller holds the mutex.
func (f *rawFaults) report(what, where string) {
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	words := strings.Fields(what)
	kind := strings.Join(words[:min(5, len(words))], " ")
	if f.seen[kind]++; f.seen[kind] <= 5 {
		f.t.Errorf("%.300s\n%.1000s", what, where)
	}
}

// send sends requests over one connection after the other, and counts the statuses of
// the first answers.
func (g *grammar) send(faults *rawFaults, n int) map[int]int {
	statuses := map[int]int{}
	var c net.Conn
	var answers *bufio.Reader
	for range n {
		if c == nil {
			var err error
			if c, err = net.DialTimeout("tcp", g.host, patience); err != nil {
				faults.t.Errorf("Portico takes no connection: %v", err)
				return statuses
			}
			answers = bufio.NewReader(c)
		}
		request := g.request()
		wait := patience
		if request.unfinished {
			wait = 20 * time.Millisecond // the rest does not matter
		}
		status, open := ask(c, answers, request.text, wait)
		statuses[status]++
		faults.answered(status, request.text)
		if !open || request.unfinished || g.once(50) {
			_ = c.Close()
			c = nil
		}
	}
	if c != nil {
		_ = c.Close()
	}
	return statuses
}

// ask sends a request and reads the answer; open reports whether another can follow.
func ask(c net.Conn, answers *bufio.Reader, request string, wait time.Duration) (status int, open bool) {
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return 0, false
	}
	if _, err := io.WriteString(c, request); err != nil {
		return 0, false
	}
	method, _, _ := strings.Cut(strings.TrimSpace(request), " ")
	for {
		res, err := http.ReadResponse(answers, &http.Request{Method: method})
		if err != nil {
			return 0, false
		}
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode >= 200 || err != nil {
			return res.StatusCode, err == nil && !res.Close
		}
	}
}

// The checks of raw requests find what must not arrive.
func TestForbidden(t *testing.T) {
	t.Parallel()
	const public = "http://portico.example"
	path := "/subscriptions/" + ours + "/resourceGroups/rg/providers/Evil.Test/things/"
	arrive := func(method, target string, header ...string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "http://10.0.0.1:80/", nil)
		r.Method, r.RequestURI, r.Host, r.Header = method, target, "10.0.0.1:80", harness.Header(append([]string{"X-Ms-Client-Object-Id", alice.ObjectID}, header...)...)
		return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}))
	}
	good := []string{"Accept", "x", "X-Ms-Foo", evilMark, "Traceparent", "x", "X-Forwarded-For", "127.0.0.1", "Referer", public + "/x", "User-Agent", evilMark}
	if wrong := forbidden(arrive("GET", path+"zza1%3B"+api, good...), public); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
	foreign, length := arrive("GET", path+"zza1"), arrive("PUT", path+"zza1")
	foreign.Host = "evil.example"
	length.TransferEncoding = []string{"chunked"}
	for name, r := range map[string]*http.Request{
		"method": arrive("TRACE", path+"zza1"), "host": foreign, "framing": length,
		"empty segment": arrive("GET", path+"/zza1"), "dot segment": arrive("GET", path+"../zza1"), "escaped dot segment": arrive("GET", path+"%2e%2e"), "parameter": arrive("GET", path+"zza1;x"),
		"another encoding": arrive("GET", path+"%7Aza1"), "lower-case escape": arrive("GET", path+"zza1%3b"), "slash in a name": arrive("GET", path+"zza1%2Fx"), "twice": arrive("GET", path+"zza1%253B"),
		"other tenant": arrive("GET", strings.Replace(path, ours, theirs, 1)+"x"), "another's": arrive("GET", path+"zzb1"), "no token": arrive("GET", path+"zzn1"), "no such subscription": arrive("GET", "/Subscriptions/x/resources"),
		"token": arrive("GET", path+"zza1", "Authorization", "x"), "cookie": arrive("GET", path+"zza1", "Cookie", "x"), "unknown header": arrive("GET", path+"zza1", "X-Foo", "x"), "look-alike": arrive("GET", path+"zza1", "X_ms_client_tenant_id", "x"),
		"forged stamp": arrive("GET", path+"zza1", "X-Ms-Client-Tenant-Id", evilMark), "stamp twice": arrive("GET", path+"zza1", "X-Ms-Client-Object-Id", bob.ObjectID), "family": arrive("GET", path+"zza1", "X-Ms-Home-Foo", "x"),
		"forwarded": arrive("GET", path+"zza1", "X-Forwarded-For", "1.2.3.4"), "referer": arrive("GET", path+"zza1", "Referer", "http://evil.example/"),
	} {
		if wrong := forbidden(r, public); len(wrong) == 0 {
			t.Errorf("%s: nothing is said against it", name)
		}
	}
}
