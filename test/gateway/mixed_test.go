package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Requests that are answered at the same time share memory that earlier ones used:
// each gets its own answer and ids, and its provider its caller.
func TestRequestsAtATimeAreNotMixed(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		id := r.Header.Get("X-Ms-Client-Request-Id")
		w.Header().Set("Etag", id)
		said := []string{
			id, r.Header.Get("X-Ms-Correlation-Request-Id"), r.Header.Get("X-Ms-Client-Object-Id"), r.Header.Get("Referer"), r.URL.Path,
		}
		var n int
		_, _ = fmt.Sscan(strings.TrimPrefix(id, "id-"), &n)
		for range n % 90 { // up to several blocks
			_, _ = io.WriteString(w, strings.Join(said, "\n")+"\n"+strings.Repeat("-", 500)+"\n")
		}
		_, _ = io.WriteString(w, strings.Join(said, "\n"))
	}))
	t.Cleanup(provider.Close)
	s := newSite(t, setup{tokens: true, types: fmt.Sprintf(declarations, fmt.Sprintf("westus: [%[1]q], global: [%[1]q]", provider.URL))})
	s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", bearer(secret))
	const at = "/providers/Contoso.Compute/locations/westus/things/"
	var clients sync.WaitGroup
	for client, token := range []string{secret, second, third, secret, second, third} {
		clients.Go(func() {
			for i := range 60 {
				id := fmt.Sprint("id-", client*1000+i)
				correlation := fmt.Sprintf("00000000-0000-0000-%04d-%012d", client, i)
				target := inSubscription + at + id + api
				got := exchangeWith(t, s.server, "GET", target, "", "Host", "portico.example", "Authorization", bearer(token),
					"X-Ms-Client-Request-Id", id, "X-Ms-Return-Client-Request-Id", "true", "X-Ms-Correlation-Request-Id", correlation)
				said := strings.Join([]string{id, correlation, callers[token].ObjectID, "http://portico.example" + target, inSubscription + at + id}, "\n")
				want := strings.Repeat(said+"\n"+strings.Repeat("-", 500)+"\n", (client*1000+i)%90) + said
				if got.status != http.StatusOK || got.text != want {
					t.Errorf("%s: %d, %d bytes of %d, ending in %q", id, got.status, len(got.text), len(want), got.text[max(0, len(got.text)-300):])
				}
				for name, value := range map[string]string{"X-Ms-Client-Request-Id": id, "X-Ms-Correlation-Request-Id": correlation, "Etag": id} {
					if sent := got.header.Values(name); len(sent) != 1 || sent[0] != value {
						t.Errorf("%s: %s %q", id, name, sent)
					}
				}
			}
		})
	}
	clients.Wait()
}
