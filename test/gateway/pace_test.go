package gateway_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"portico/gateway/exchange"
)

// Whatever is answered, the client has so much time to take it, counted from the
// first byte. The time of the answer before does not keep a client from being told
// to send its content.
func TestEveryAnswerHasToBeTaken(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	s.do("PUT", groupPath("g")+own, westus, "Authorization", bearer(secret))
	s.do("PUT", machinePath("g", "m")+api, westus, "Authorization", bearer(secret))
	limit := s.config.Upstream.CallTimeout + exchange.DeliveryTime(s.config.Limits.AnswerBody)
	if limit < s.config.Upstream.CallTimeout+exchange.DeliveryTime(0) || limit > s.config.Upstream.CallTimeout+2*time.Minute {
		t.Errorf("%s for an answer", limit)
	}
	for _, c := range []struct {
		method, target, body, token string
		status                      int
	}{
		{"GET", groupPath("g") + own, "", secret, 200},
		{"HEAD", groupPath("g") + own, "", secret, 204},
		{"GET", groupPath("none") + own, "", secret, 404},
		{"GET", groupPath("g") + own, "", "nobody's", 401},
		{"GET", "/subscriptions/x" + own, "", secret, 400},
		{"GET", machinePath("g", "m") + api, "", secret, 200},
		{"HEAD", machinePath("g", "m") + api, "", secret, 204},
		{"PUT", machinePath("g", "m") + api, westus, secret, 200},
		{"DELETE", machinePath("g", "none") + api, "", secret, 204},
		{"POST", machinePath("g", "m") + "/start" + api, "{}", secret, 200},
		{"GET", inSubscription + "/resources" + own, "", secret, 200},
		{"PATCH", machinePath("g", "m") + "/providers/Microsoft.Resources/tags/default" + own, `{"operation":"Merge","properties":{"tags":{"a":"b"}}}`, secret, 200},
	} {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
		r.Host = "portico.example"
		r.Header.Set("Authorization", bearer(c.token))
		r.Header.Set("Content-Type", "application/json")
		started := time.Now()
		s.gateway.Public().ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.target, w.Code, w.Body)
		}
		d := w.deadlines
		if c.body != "" { // the first one is lifted
			if len(d) == 0 || !d[0].IsZero() {
				t.Errorf("%s %s: %v", c.method, c.target, d)
				continue
			}
			d = d[1:]
		}
		if len(d) != 1 || d[0].Before(started.Add(limit)) || d[0].After(time.Now().Add(limit)) {
			t.Errorf("%s %s: %v", c.method, c.target, d)
		}
	}
}
