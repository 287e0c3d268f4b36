package wire

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// R1, R4, R5, S4: the effects of a faulty or hostile region on lists.
func testListBounds(t *testing.T, w *world) {
	w.holdPages(t, "bounds")
	const first = pagesOfRegions + "?" + V
	good := pageText("", `"e1"`)
	t.Run("S4 a gzip bomb", func(t *testing.T) {
		var bomb bytes.Buffer
		z, err := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
		harness.OK(t, err)
		if _, err := io.Copy(z, io.LimitReader(spaces{}, 1<<30)); err != nil {
			t.Fatal(err)
		}
		harness.OK(t, z.Close())
		w.pages("eastus", map[string]string{"": good})
		w.pages("westus", map[string]string{"": ok(200, bomb.String(), "Content-Encoding: gzip")})
		before := w.metric(t, "process_resident_memory_bytes")
		for range 8 {
			got := w.send(t, message{target: first})
			if f := got.failure(t).Error; got.status != 503 || len(f.Details) != 1 || f.Details[0].Code != "ResponseTooLarge" {
				t.Errorf("got %s", got)
			}
		}
		if grown := w.metric(t, "process_resident_memory_bytes") - before; grown > 256<<20 { // unpacked, it is 1 GiB
			t.Errorf("memory grew by %.0f MiB", grown/(1<<20))
		}
	})
	t.Run("what to do about a failure is a word of its own", func(t *testing.T) {
		for _, lines := range [][]string{{"x-ms-portico-on-region-failure: maybe"}, {"x-ms-portico-on-region-failure:"}, {"x-ms-portico-on-region-failure: fail", "x-ms-portico-on-region-failure: partial"}} {
			got := w.send(t, message{target: first, header: lines})
			if got.status != 400 || got.failure(t).Error.Code != "InvalidRequestHeader" {
				t.Errorf("%q: %s", lines, got)
			}
		}
	})
	t.Run("R4 everything fails", func(t *testing.T) { w.everythingFails(t, first) })
	t.Run("metrics", func(t *testing.T) {
		for _, series := range []string{
			`portico_fanout_regions_total{outcome="answered",region="eastus"}`, `portico_fanout_regions_total{outcome="failed",region="westus"}`,
			`portico_fanout_pages_total{outcome="complete"}`, `portico_fanout_pages_total{outcome="failed"}`, `portico_fanout_seconds_count`,
		} {
			if w.metric(t, series) == 0 {
				t.Errorf("%s is 0 or missing", series)
			}
		}
	})
}

// spaces is an endless run of white space, with which a JSON text may begin.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// metric is the value of one of the gateway's series, 0 if it is missing.
func (w *world) metric(t *testing.T, series string) float64 {
	t.Helper()
	res, err := w.client.Get("http://" + w.admin + "/metrics")
	harness.OK(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", res.StatusCode, err)
	}
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindSubmatch(text)
	if line == nil {
		return 0
	}
	value, err := strconv.ParseFloat(string(line[1]), 64)
	harness.OK(t, err)
	return value
}

// everythingFails makes every list of a region fail, and counts the calls: of the
// requests of the last ten seconds a fifth may be retries, and ten in any case. It uses
// a new gateway, because the earlier rows made requests too.
func (w *world) everythingFails(t *testing.T, list string) {
	fresh := *w
	fresh.gateway = w.start(t, "", nil)
	fresh.holdPages(t, "failing")
	w.pages("westus", map[string]string{"": ok(503, "{}")})
	w.pages("eastus", map[string]string{"": hangUp})
	w.forget(t)
	const lists, clients = 400, 20
	started := time.Now()
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range lists / clients {
				if got := fresh.send(t, message{target: list}); got.status != 503 {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	wait.Wait()
	always := 10 * (2 + int(time.Since(started)/(10*time.Second)))
	seen := map[string]int{}
	for _, r := range w.received(t) {
		if strings.HasPrefix(r.target, list) {
			seen[r.region]++
		}
	}
	for region, n := range seen {
		if n < lists || n > lists+lists/5+always {
			t.Errorf("%s got %d requests for %d lists", region, n, lists)
		}
	}
	if fresh.metric(t, `portico_retries_total{outcome="refused",region="eastus"}`) == 0 || len(seen) != 2 {
		t.Errorf("no retry was refused; %v", seen)
	}
}
