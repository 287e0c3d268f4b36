package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/provider/contoso"
)

func startProviders(t testing.TB) map[string]*endpoint {
	t.Helper()
	all := map[string]*endpoint{}
	for _, region := range []string{"westus", "eastus", "global"} {
		e := &endpoint{t: t}
		provider, err := contoso.New(contoso.Options{Region: region, Log: zap.NewNop(), Now: e.clock.now})
		must(t, err)
		e.server = httptest.NewServer(provider)
		t.Cleanup(func() {
			e.server.CloseClientConnections()
			if err := provider.Close(); err != nil {
				t.Error(err)
			}
			e.server.Close()
		})
		all[region] = e
	}
	return all
}

// endpoint is a provider in one region, spoken to past the gateway.
type endpoint struct {
	t      testing.TB
	server *httptest.Server
	clock  clock
}

// fault has the next request that fits misbehave.
func (e *endpoint) fault(method, pathContains, fault string) {
	e.t.Helper()
	e.do("POST", "/contoso/faults", fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":%q}`, method, pathContains, fault), 201)
}

// received is a request as the provider got it.
type received struct {
	Method, Path, Query string
	Headers             http.Header
}

// requests lists what the provider got, and forgets it.
func (e *endpoint) requests() []received {
	e.t.Helper()
	list := e.peek()
	e.do("DELETE", "/contoso/requests", "", 204)
	return list
}

// peek lists what the provider got.
func (e *endpoint) peek() []received {
	e.t.Helper()
	var list struct{ Value []received }
	must(e.t, json.Unmarshal(e.do("GET", "/contoso/requests", "", 200), &list))
	return list.Value
}

// holds lists the ids of the provider's resources.
func (e *endpoint) holds() []string {
	e.t.Helper()
	var list struct{ Value []string }
	must(e.t, json.Unmarshal(e.do("GET", "/contoso/resources", "", 200), &list))
	return list.Value
}

func (e *endpoint) do(method, target, body string, want int) []byte {
	e.t.Helper()
	answer := exchangeWith(e.t, e.server, method, target, body)
	if answer.status != want {
		e.t.Fatalf("the provider answers %s %s with %d %s", method, target, answer.status, answer.text)
	}
	return []byte(answer.text)
}

// exchangeWith sends a request and reads the answer whole.
func exchangeWith(t testing.TB, server *httptest.Server, method, target, body string, header ...string) seen {
	t.Helper()
	answer, err := server.Client().Do(request(t, server, method, target, body, header...))
	must(t, err)
	defer answer.Body.Close()
	return read(t, answer)
}

func request(t testing.TB, server *httptest.Server, method, target, body string, header ...string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, server.URL+target, strings.NewReader(body))
	must(t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		switch header[i] {
		case "Host":
			r.Host = header[i+1]
		case "Content-Type":
			r.Header.Set(header[i], header[i+1])
		default:
			r.Header.Add(header[i], header[i+1])
		}
	}
	return r
}
