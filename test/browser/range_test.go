package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"portico/test/harness"
)

// After a restart the charts show what was before, and any longer range.
func TestRangesAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{})
	for range 40 {
		w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + "?api-version=2022-12-01"}).Want(t, 200)
	}
	// A minute is shown once it is over, and other replicas could have stored theirs.
	harness.Await(t, 3*time.Minute, "the minute of the requests", func() bool {
		var sum float64
		for _, i := range w.Portico.Admin(t, harness.Request{Method: http.MethodGet, Path: "/admin/traffic?range=1h"}).Want(t, 200).JSON(t)["intervals"].([]any) {
			sum += i.(map[string]any)["requests"].(float64)
		}
		return sum >= 40
	})
	w.Portico.Stop(t)
	w.Portico.Restart(t)
	b := newTab(t, newBrowser(t))
	b.open(w.Portico.AdminURL)
	b.sees("Traffic, last hour", "all replicas, by minutes", "Requests per second")
	const drawn = `document.querySelector('#all-requests polyline').getAttribute('points').split(' ').some((p) => parseFloat(p.split(',')[1]) < 90)`
	b.holds("what was before is drawn", drawn)
	for span, name := range map[string]string{"6h": "6 hours", "24h": "24 hours"} {
		b.text(fmt.Sprintf(`[...document.querySelectorAll('nav.tools a')].find((a) => a.textContent === %q).click()`, span))
		b.sees("Traffic, last "+name, "Requests per second")
		b.holds("the address holds the range", fmt.Sprintf(`location.hash === '#/overview?range=%s'`, span))
		b.holds("it is drawn", drawn)
	}
	b.harmless()
}
