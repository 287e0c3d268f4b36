package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// deletionSettings shortens what these tests would otherwise wait for.
const deletionSettings = `
index: {sendWithin: 2s, lateWriteWindow: 500ms, callMargin: 500ms, pollFloor: 50ms, askTimeout: 2s}
upstream: {callTimeout: 3s}
jobs: {lease: 2s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s, firstAnswer: 0s}
groupDelete: {transientBudget: 20s, limit: 3m}
`

// patient gives calls and questions the time that a busy machine may take for them,
// in settings for tests that wait for none of those that bring no answer.
func patient(settings string) string {
	for _, name := range []string{"sendWithin", "callTimeout", "askTimeout"} {
		settings = regexp.MustCompile(`\b`+name+`: \w+`).ReplaceAllString(settings, name+": 30s")
	}
	return settings
}

// create makes a resource. What a busy machine did not send, or answer, in the
// short time that these tests give it, 503 and 504, is sent again.
func create(t *testing.T, p *harness.Portico, id, region string) {
	t.Helper()
	there := false // perhaps
	var a harness.Answer
	var err error
	for range 20 {
		a, err = p.Try(t.Context(), harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body(region)})
		if err != nil || a.Status != http.StatusServiceUnavailable && a.Status != http.StatusGatewayTimeout {
			break
		}
		there = there || a.Status == http.StatusGatewayTimeout
	}
	if err != nil || a.Status != http.StatusCreated && !(there && a.Status == http.StatusOK) {
		t.Errorf("%s: %d %v %s", id, a.Status, err, a.Body)
	}
}

// fill makes resources in a group, several at a time: each is a type with a
// name, and the region where it shall be.
func fill(t *testing.T, w *harness.World, group string, resources map[string]string) {
	t.Helper()
	w.PutGroup(t, group)
	queue := make(chan [2]string)
	var makers sync.WaitGroup
	for range 16 {
		makers.Go(func() {
			for r := range queue {
				create(t, w.Portico, w.ResourcePath(group, r[0]), r[1])
			}
		})
	}
	for name, region := range resources {
		queue <- [2]string{name, region}
	}
	close(queue)
	makers.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// misbehave has all providers misbehave.
func misbehave(t *testing.T, w *harness.World, method, path, fault string, count int) {
	t.Helper()
	for _, region := range append(harness.RegionNames(), "global") {
		w.Contoso(region).Do(t, harness.Request{
			Method: http.MethodPost, Path: "/contoso/faults",
			Body: fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":%q,"count":%d}`, method, path, fault, count),
		}).Want(t, 201)
	}
}

func behave(t *testing.T, w *harness.World) {
	t.Helper()
	for _, region := range append(harness.RegionNames(), "global") {
		w.Contoso(region).Do(t, harness.Request{Method: http.MethodDelete, Path: "/contoso/faults"}).Want(t, 204)
	}
}

// deletion is a group's delete under way.
type deletion struct {
	w              *harness.World
	group          string
	result, status string // paths
}

func beginDelete(t *testing.T, w *harness.World, p *harness.Portico, group string) deletion {
	t.Helper()
	return deletionOf(t, w, p.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath(group) + "?api-version=2021-04-01"}).Want(t, 202), group)
}

// deletionOf is what the answer to a group's DELETE began.
func deletionOf(t *testing.T, w *harness.World, a harness.Answer, group string) deletion {
	t.Helper()
	d := deletion{w: w, group: group}
	d.result, d.status = ownOperation(t, a)
	return d
}

// ownOperation is where an operation of Portico's own is polled for its result,
// which its first answer names, and for its status.
func ownOperation(t *testing.T, accepted harness.Answer) (result, status string) {
	t.Helper()
	at, err := url.Parse(accepted.Header.Get("Location"))
	if err != nil || !strings.Contains(at.Path, "/operationresults/") {
		t.Fatalf("Location: %q %v", accepted.Header.Get("Location"), err)
	}
	result = at.RequestURI()
	return result, strings.Replace(result, "/operationresults/", "/operationStatuses/", 1)
}

// progress is what the operation's status says.
type progress struct {
	Status                                          string
	PercentComplete                                 float64
	Total, Deleted, InFlight, Waiting, Parked, Pass int
	WaitingFor                                      []string
	Message                                         string
	Error                                           struct{ Code string }
}

func (d deletion) progress(t *testing.T, p *harness.Portico) (now progress) {
	t.Helper()
	harness.OK(t, json.Unmarshal(p.Do(t, harness.Request{Path: d.status}).Want(t, 200).Body, &now))
	return now
}

// end polls the result until it is there.
func (d deletion) end(t *testing.T, p *harness.Portico) (a harness.Answer) {
	t.Helper()
	for bound := time.Now().Add(10 * time.Minute); time.Now().Before(bound); time.Sleep(50 * time.Millisecond) {
		if a = p.Do(t, harness.Request{Path: d.result}); a.Status != http.StatusAccepted {
			return a
		}
	}
	t.Fatalf("the deletion does not end: %+v", d.progress(t, p))
	return a
}

// gone wants the group and all that it held gone, everywhere.
func (d deletion) gone(t *testing.T, p *harness.Portico) {
	t.Helper()
	if a := d.end(t, p); a.Status != http.StatusOK || len(a.Body) != 0 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	p.Do(t, harness.Request{Path: d.w.GroupPath(d.group) + "?api-version=2021-04-01"}).WantError(t, 404, "ResourceGroupNotFound")
	if left := remainingResources(t, d.w, d.group); len(left) != 0 {
		t.Errorf("providers hold %v", left)
	}
}

// remainingResources lists the resources of a group that providers hold.
func remainingResources(t *testing.T, w *harness.World, group string) (left []string) {
	t.Helper()
	prefix := strings.ToLower(w.GroupPath(group)) + "/"
	for _, region := range append(harness.RegionNames(), "global") {
		for _, id := range w.Contoso(region).Resources(t) {
			if strings.HasPrefix(id, prefix) {
				left = append(left, id)
			}
		}
	}
	return left
}

// While a region is down the group stays, says so, and goes on when it is back.
// What comes back after its delete is found before the group goes.
func TestGroupDeleteWaitsForARegion(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: deletionSettings}})
	resources := map[string]string{}
	for i := range 30 {
		resources[fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%02d", i)] = harness.RegionNames()[i%3]
	}
	fill(t, w, "rg", resources)
	w.Contoso("northeurope").Kill(t)
	d := beginDelete(t, w, w.Portico, "rg")
	soon(t, "the status names the region", func() bool {
		now := d.progress(t, w.Portico)
		return slices.Equal(now.WaitingFor, []string{"northeurope"}) && now.Deleted == 20
	})
	soon(t, "the metrics name the region", func() bool {
		return strings.Contains(w.Portico.Metrics(t), `portico_group_deletes_waiting{region="northeurope"} 1`)
	})
	back := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm-00")
	w.Contoso("westus").Do(t, harness.Request{
		Method: http.MethodPut, Path: back + "?api-version=" + harness.Version, Body: body("westus"),
		Header: harness.Header("Referer", w.Portico.URL+back),
	}).Want(t, 201)
	w.Portico.Do(t, harness.Request{Path: d.result}).Want(t, 202)
	w.Contoso("northeurope").Restart(t)
	d.gone(t, w.Portico)
}

// A plain group of more than a job reads at once, and counts one by one.
func TestGroupDeleteOfManyResources(t *testing.T) {
	t.Parallel()
	count := 1100
	if *long {
		count = 2000
	}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: strings.Replace(patient(deletionSettings), "limit: 3m", "limit: 15m", 1)}})
	resources := map[string]string{}
	for i := range count {
		typ := []string{"Contoso.Compute/virtualMachines", "Contoso.Compute/networkInterfaces", "Contoso.Insight/workspaces"}[i%3]
		resources[fmt.Sprintf("%s/r-%04d", typ, i)] = harness.RegionNames()[i/3%3]
	}
	fill(t, w, "rg", resources)
	d := beginDelete(t, w, w.Portico, "rg")
	d.gone(t, w.Portico)
	if now := d.progress(t, w.Portico); now.Total != count || now.Deleted != count || now.PercentComplete != 100 {
		t.Errorf("%+v", now)
	}
}
