package reload

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"portico/test/harness"
)

// address is one of a provider's, which goes down and comes up.
type address struct {
	url      string
	down, up func()
}

// refusing is an address that, while it is down, has no connections and takes none.
func refusing(t *testing.T, provider *harness.Contoso) address {
	t.Helper()
	relay := harness.StartRelay(t, provider.URL)
	return address{relay.URL, relay.Kill, func() { relay.Restart(t) }}
}

// unavailable is an address that, while it is down, answers 503: a load balancer that has
// nothing behind it.
func unavailable(t *testing.T, provider *harness.Contoso) address {
	t.Helper()
	return whileDown(t, provider, func(w http.ResponseWriter, _ <-chan struct{}) (goOn bool) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	})
}

// silent is an address that, while it is down, takes requests and answers none of them
// until it is up again: a process that stands still.
func silent(t *testing.T, provider *harness.Contoso) address {
	t.Helper()
	return whileDown(t, provider, func(_ http.ResponseWriter, up <-chan struct{}) (goOn bool) {
		<-up
		return true
	})
}

// whileDown is an address that asks what to do with each request while it is down, and
// whether the provider is to have it after all.
func whileDown(t *testing.T, provider *harness.Contoso, do func(http.ResponseWriter, <-chan struct{}) (goOn bool)) address {
	t.Helper()
	target, err := url.Parse(provider.URL)
	harness.OK(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var mu sync.Mutex
	var down chan struct{} // closed when it is up again; nil: it is up
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		up := down
		mu.Unlock()
		if up == nil || do(w, up) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return address{
		url: server.URL,
		down: func() {
			mu.Lock()
			defer mu.Unlock()
			down = make(chan struct{})
		},
		up: func() {
			mu.Lock()
			defer mu.Unlock()
			close(down)
			down = nil
		},
	}
}
