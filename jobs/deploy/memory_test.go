package deploy_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"portico/inventory/deploymentrow"
	"portico/jobs/deploy"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/jobstest"
	"portico/limits"
)

// numbers is an array of so many, each of which takes 2 bytes as JSON and some 60 as a value.
func numbers(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }

// asking is a resource whose properties have so many times what an expression of copyIndex()
// says.
func asking(count int, expression string) string {
	return fmt.Sprintf(`{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "asks", "location": "westus",
		"properties": {"copy": [{"name": "all", "count": %d, "input": "[%s]"}]}}`, count, expression)
}

const answerOf = `reference(resourceId('Contoso.Compute/virtualMachines', format('m{0}', copyIndex('all'))), '2024-01-01')`

// large are the answers of so many resources with so many numbers.
func large(count, n int) map[string][]reply {
	replies := map[string][]reply{"PUT asks": {{status: 201, body: created.body}}}
	for i := range count {
		replies[fmt.Sprint("GET m", i)] = []reply{{status: 200, body: fmt.Sprintf(`{"properties": {"provisioningState": "Succeeded", "size": "size-%d", "numbers": %s}}`, i, numbers(n))}}
	}
	return replies
}

// bounded is a deployer with so much memory.
func bounded(bytes int64) (deploy.Deployer, *limits.Stats) {
	stats := &limits.Stats{}
	return deploy.Deployer{Memory: limits.NewMemory(bytes, bytes, stats), MemoryLimit: bytes}, stats
}

func givenBack(t *testing.T, d deploy.Deployer) {
	t.Helper()
	for end := time.Now().Add(time.Minute); d.Memory.Free() != d.MemoryLimit; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d bytes were not given back", d.MemoryLimit-d.Memory.Free(), d.MemoryLimit)
		}
	}
}

// Of large answers, what was asked for is kept alone: all of them would take 380
// MiB.
func TestWhatWasAskedForIsKept(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	var most atomic.Uint64
	d, _ := bounded(1 << 20)
	replies := large(60, 100_000)
	replies["PUT asks"][0].first = func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		most.Store(m.HeapAlloc)
	}
	r := deployed(t, d, replies, asking(60, answerOf+".size"))
	r.want(t, deploymentrow.Succeeded)
	if puts := r.of("PUT asks"); len(puts) != 1 || !strings.Contains(puts[0].body, `"size-59"`) {
		t.Errorf("%.999v", puts)
	}
	if n := len(r.of("GET m7")); n != 1 {
		t.Errorf("a resource was asked %d times", n)
	}
	t.Logf("%d MiB of heap", most.Load()>>20)
	if most.Load() > 100<<20 {
		t.Errorf("the heap holds %d MiB once the body is known", most.Load()>>20)
	}
	givenBack(t, d)
}

// What cannot be had within the bound of one deployment is refused by its name.
func TestAnswersBeyondTheBound(t *testing.T) {
	t.Parallel()
	d, _ := bounded(8 << 20)
	r := deployed(t, d, large(20, 20_000), asking(20, answerOf))
	r.want(t, deploymentrow.Failed, "InvalidTemplate", "batch.memory, 8388608 bytes")
	givenBack(t, d)
	d, _ = bounded(8 << 20)
	r = deployed(t, d, large(4, 20_000), asking(4, answerOf))
	r.want(t, deploymentrow.Succeeded)
	keys := map[string][]reply{"PUT asks": {{status: 201, body: created.body}}, "POST listKeys": {{status: 200, body: `{"numbers": ` + numbers(5_000) + `, "key": "k1"}`}}}
	d, _ = bounded(64 << 10)
	r = deployed(t, d, keys, asking(20, "listKeys(resourceId('Contoso.Compute/virtualMachines', format('m{0}', copyIndex('all'))), '2024-01-01').key"))
	r.want(t, deploymentrow.Failed, "batch.memory") // all of them may be secrets, and are kept
	givenBack(t, d)
}

// A deployment that holds nothing waits for the memory that others hold, for as long as a step
// is tried again; one that holds some does not, as others may wait for it.
func TestAnswersWaitForMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asks   string
		budget time.Duration
		frees  bool
		want   []string
	}{
		"it comes":                      {asks: answerOf, budget: time.Hour, frees: true},
		"it does not":                   {asks: answerOf, budget: 50 * time.Millisecond, want: []string{"ServerBusy", "batch.totalMemory"}},
		"it does not, and some is held": {asks: "concat(listKeys('/subscriptions/" + jobstest.Subscription + "/resourceGroups/g/providers/C.C/m/k', '1').key, string(" + answerOf + "))", budget: 50 * time.Millisecond, want: []string{"ServerBusy", "batch.totalMemory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, stats := bounded(8 << 20)
			d.Limits = deployplan.Limits{Budget: c.budget}
			others := d.Memory.Reservation("bob", d.MemoryLimit)
			if err := others.Grow(t.Context(), 15<<19); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				for ; c.frees && stats.Waiting() == 0; time.Sleep(time.Millisecond) {
				}
				if c.frees {
					others.Close()
				}
				close(ended)
			}()
			replies := large(1, 20_000)
			replies["POST listKeys"] = []reply{{status: 200, body: `{"key": "k1"}`}}
			r := deployed(t, d, replies, asking(1, c.asks))
			if c.want == nil {
				r.want(t, deploymentrow.Succeeded)
			} else {
				r.want(t, deploymentrow.Failed, c.want...)
			}
			<-ended
			others.Close()
			givenBack(t, d)
		})
	}
}
