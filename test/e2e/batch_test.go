package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"portico/test/harness"
)

// batchSettings has a gateway give up early on a request whose sender is gone.
const batchSettings = `
index: {sendWithin: 4s, lateWriteWindow: 500ms, callMargin: 500ms, pollFloor: 50ms, askTimeout: 500ms}
upstream: {callTimeout: 6s}
jobs: {lease: 1s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s, firstAnswer: 0s}
batch: {atOnce: 4}
`

type batchResponse struct {
	Name           string
	HTTPStatusCode int
	Headers        map[string]string
	Content        json.RawMessage
}

// sendBatch sends requests in one.
func sendBatch(t *testing.T, p *harness.Portico, requests []string, status int) harness.Answer {
	t.Helper()
	return p.Do(t, harness.Request{
		Method: http.MethodPost, Path: "/batch?api-version=2020-06-01", Body: `{"requests":[` + strings.Join(requests, ",") + `]}`,
	}).Want(t, status)
}

func responsesOf(t *testing.T, a harness.Answer) []batchResponse {
	t.Helper()
	var body struct{ Responses []batchResponse }
	if err := json.Unmarshal(a.Body, &body); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return body.Responses
}

// polled polls a batch, through a gateway that is up at that moment, to its end.
func polled(t *testing.T, accepted harness.Answer, p *harness.Portico) []batchResponse {
	t.Helper()
	link, err := url.Parse(accepted.Header.Get("Location"))
	harness.OK(t, err)
	return responsesOf(t, eventually(t, "the end of a batch", func() (harness.Answer, bool) {
		a := p.Do(t, harness.Request{Path: link.RequestURI()}).Want(t, 200, 202)
		return a, a.Status == http.StatusOK
	}))
}

// lostLeases is how often a gateway, since its start, lost the lease of a job of a
// kind because it was too slow.
func lostLeases(t *testing.T, p *harness.Portico, kind string) int {
	t.Helper()
	return int(max(0, metric(t, p, "portico_job_attempts_total", fmt.Sprintf(`kind=%q,outcome="deposed"`, kind))))
}

func machine(w *harness.World, i int) string {
	return w.ResourcePath("rg", fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%03d", i))
}

func TestBatchOverRegions(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	var puts, gets []string
	for i, region := range harness.RegionNames() {
		puts = append(puts, fmt.Sprintf(`{"name":"%d","httpMethod":"PUT","url":"%s?api-version=%s","content":%s}`, i, machine(w, i), harness.Version, body(region)))
		gets = append(gets, fmt.Sprintf(`{"name":"%d","httpMethod":"GET","url":"%s%s?api-version=%s"}`, i, w.Portico.URL, machine(w, i), harness.Version))
	}
	for i, r := range responsesOf(t, sendBatch(t, w.Portico, puts, 200)) {
		if r.HTTPStatusCode != 201 || r.Name != fmt.Sprint(i) {
			t.Errorf("%+v", r)
		}
		w.WantOnlyIn(t, harness.RegionNames()[i], machine(w, i))
	}
	list := fmt.Sprintf(`{"httpMethod":"GET","url":"%s/providers/Contoso.Compute/virtualMachines?api-version=%s"}`, w.SubscriptionPath(), harness.Version)
	all := responsesOf(t, sendBatch(t, w.Portico, append(gets, list), 200))
	for i, r := range all[:3] {
		if r.HTTPStatusCode != 200 || !strings.Contains(string(r.Content), harness.RegionNames()[i]) {
			t.Errorf("%+v", r)
		}
	}
	var merged struct{ Value []json.RawMessage }
	if err := json.Unmarshal(all[3].Content, &merged); err != nil || len(merged.Value) != 3 || all[3].Headers["x-ms-portico-completed"] != "true" {
		t.Errorf("%v %+v", err, all[3])
	}
}

// A batch outlives the gateways that carry it: each is killed in the middle of
// it. Nothing that changes something is sent twice, and what is told of each
// request is true.
func TestBatchOutlivesItsReplicas(t *testing.T) {
	t.Parallel()
	const n = 120
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "batch"), Extra: batchSettings},
	})
	w.PutGroup(t, "rg")
	var requests []string
	for i := range n {
		requests = append(requests, fmt.Sprintf(`{"name":"put-%d","httpMethod":"PUT","url":"%s?api-version=%s","content":%s}`,
			i, machine(w, i), harness.Version, body(harness.RegionNames()[i%3])))
	}
	requests = append(requests, fmt.Sprintf(`{"name":"group","httpMethod":"GET","url":"%s?api-version=2021-04-01"}`, w.GroupPath("rg")))
	misbehave(t, w, "PUT", "/vm-", "slow=150ms", -1)
	accepted := sendBatch(t, w.Portico, requests, 202)
	held := func() int { return len(remainingResources(t, w, "rg")) }
	handovers := 0 // of the batch, from one gateway to another
	for round, above := range []int{n / 5, n / 2, n * 3 / 4} {
		victim, other := w.Replicas[round%2], w.Replicas[(round+1)%2]
		soon(t, "a part of the batch", func() bool { return held() > above })
		handovers += 1 + lostLeases(t, victim, "batch")
		victim.Kill(t)
		other.Do(t, harness.Request{Path: "/subscriptions?api-version=2020-01-01"}).Want(t, 200)
		victim.Restart(t)
	}
	all := polled(t, accepted, w.Portico)
	if len(all) != n+1 || all[n].Name != "group" || all[n].HTTPStatusCode != 200 {
		t.Fatalf("%d answers, the last %+v", len(all), all[len(all)-1])
	}
	sent := map[string]int{}
	for _, region := range harness.RegionNames() {
		for _, r := range w.Contoso(region).Requests(t) {
			if r.Method == http.MethodPut {
				sent[strings.ToLower(r.Path)]++
			}
		}
	}
	unknown := 0
	for i, r := range all[:n] {
		id := machine(w, i)
		switch count := sent[strings.ToLower(id)]; {
		case r.Name != fmt.Sprint("put-", i) || count > 1:
			t.Errorf("%s was sent %d times: %+v", id, count, r)
		case r.HTTPStatusCode == 201:
			w.WantOnlyIn(t, harness.RegionNames()[i%3], id)
		case r.HTTPStatusCode == 500 && strings.Contains(string(r.Content), "outcome of the request is unknown"):
			unknown++
		default:
			t.Errorf("%+v", r)
		}
	}
	for _, p := range w.Replicas {
		handovers += lostLeases(t, p, "batch")
	}
	if most := handovers * 4; unknown > most {
		t.Errorf("%d outcomes are unknown, want %d at most", unknown, most)
	}
	t.Logf("%d of %d outcomes are unknown after three deaths", unknown, n)
}

// The embedded store alone: a gateway that is killed goes on with its batch when
// it is started again, and no one reads in its file what was sent.
func TestBatchAfterARestart(t *testing.T) {
	t.Parallel()
	const n = 40
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	var requests []string
	for i := range n {
		requests = append(requests, fmt.Sprintf(`{"name":"put-%d","httpMethod":"PUT","url":"%s?api-version=%s","content":{"location":"westus","properties":{"password":"hunter2"}}}`,
			i, machine(w, i), harness.Version))
	}
	misbehave(t, w, "PUT", "/vm-", "slow=150ms", -1)
	accepted := sendBatch(t, w.Portico, requests, 202)
	soon(t, "a part of the batch", func() bool { return len(remainingResources(t, w, "rg")) > n/3 })
	handovers := 1 + lostLeases(t, w.Portico, "batch")
	w.Portico.Kill(t)
	for _, file := range []string{w.Portico.Database, w.Portico.Database + "-wal"} {
		if content, err := os.ReadFile(file); err != nil || strings.Contains(string(content), "hunter2") {
			t.Errorf("%s: %v, or what was sent stands in it", file, err)
		}
	}
	w.Portico.Restart(t)
	known := 0
	for _, r := range polled(t, accepted, w.Portico) {
		switch {
		case r.HTTPStatusCode == 201:
			known++
		case !strings.Contains(string(r.Content), "outcome of the request is unknown"):
			t.Errorf("%+v", r)
		}
	}
	handovers += lostLeases(t, w.Portico, "batch")
	if least := n - handovers*4; known < least {
		t.Errorf("%d of %d outcomes are known, want %d at least", known, n, least)
	}
}
