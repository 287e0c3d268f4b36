package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Whatever clients send, the metrics have the series that they have: none is
// named by a client's text.
func TestClientsMakeNoSeries(t *testing.T) {
	s := newSite(t, setup{})
	const requests, learning = 100_000, 30_000
	front := s.gateway.Public()
	dice := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("zq%x", dice.Uint64()) }
	pick := func(of ...string) string { return of[dice.IntN(len(of))] }
	random := func() *http.Request {
		subscription := pick(subscription, word(), fmt.Sprintf("%08x-0000-0000-0000-%012x", dice.Uint32(), dice.Uint32()))
		path := pick("/", "/"+word(), "/subscriptions/"+subscription+"/"+word(),
			"/subscriptions/"+subscription+"/resourceGroups/"+word()+"/providers/"+pick("Contoso.Compute", word())+"/"+pick("virtualMachines", word())+"/"+word(),
			"/subscriptions/"+subscription+"/providers/"+pick("Contoso.Compute", word())+"/locations/"+pick("westus", word())+"/"+word(),
			"/providers/"+word()+"/"+word())
		r := httptest.NewRequest(http.MethodGet, "http://portico.example/", nil)
		r.RequestURI = path + "?api-version=" + pick("2024-01-01", word()) + "&" + word() + "=" + word()
		r.Method = pick("GET", "HEAD", "DELETE", "OPTIONS", strings.ToUpper(word()))
		r.Host = pick("portico.example", "portico.example", word())
		r.Header["X-Ms-Correlation-Request-Id"] = []string{word()}
		r.Header[http.CanonicalHeaderKey("x-ms-"+word())] = []string{word()}
		r.Header.Set("User-Agent", word())
		return r
	}
	var learnt int
	for i := range requests {
		if i == learning {
			learnt = countSeries(t, s.registry)
		}
		front.ServeHTTP(httptest.NewRecorder(), random())
	}
	if got := countSeries(t, s.registry); got != learnt || got > 400 {
		t.Errorf("%d series, after %d requests there were %d", got, learning, learnt)
	}
}

// countSeries counts them and looks for clients' words in their labels.
func countSeries(t *testing.T, registry prometheus.Gatherer) (n int) {
	t.Helper()
	families, err := registry.Gather()
	must(t, err)
	for _, family := range families {
		for _, series := range family.GetMetric() {
			n++
			for _, label := range series.GetLabel() {
				if strings.Contains(strings.ToLower(label.GetValue()), "zq") {
					t.Errorf("%s has a series with %s", family.GetName(), label)
				}
			}
		}
	}
	return n
}
