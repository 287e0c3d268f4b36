package groupdelete_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/access"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/jobs"
	"portico/jobs/groupdelete"
	"portico/jobs/jobstest"
	"portico/jobs/reconcile"
)

// deletionBench is a group with resources at a provider that counts its deletes.
type deletionBench struct {
	*jobstest.Bench
	group string
	job   jobrow.Job

	mu      sync.Mutex
	there   map[string]bool
	deleted map[string]int // answered with success
	tried   map[string]int
	answer  func(name string, tries int) (status int, body string) // nil, or 0: success
	pause   string                                                 // the Retry-After of whatever else it answers
	callers int                                                    // GETs that name a caller
	headers []http.Header
}

// newDeletionBench makes a group with so many machines. A write without an answer may land
// within the window.
func newDeletionBench(t *testing.T, n int, window string) *deletionBench {
	t.Helper()
	y := &deletionBench{group: "g", there: map[string]bool{}, deleted: map[string]int{}, tried: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(y.serve))
	t.Cleanup(server.Close)
	y.Bench = jobstest.NewCompute(t, server.URL, `{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"], lateWriteWindow: `+window+`}`)
	y.make(n)
	return y
}

// make makes the group with so many machines in it.
func (y *deletionBench) make(n int) {
	y.T.Helper()
	y.Group(y.group)
	for i := range n {
		name := fmt.Sprintf("m%03d", i)
		y.WriteTo(index.Put, y.id(name), jobstest.Machines, "", inventory.WriteResult{Outcome: index.Succeeded})
		y.mu.Lock()
		y.there[name] = true
		y.mu.Unlock()
	}
}

func (y *deletionBench) id(name string) string {
	return strings.TrimSuffix(jobstest.Machine, "/m") + "/" + name
}

func (y *deletionBench) serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	y.mu.Lock()
	defer y.mu.Unlock()
	y.headers = append(y.headers, r.Header.Clone())
	if r.Method == http.MethodGet {
		if r.Header.Get("X-Ms-Client-Object-Id") != "" {
			y.callers++
		}
		if name == "operation" {
			fmt.Fprint(w, `{"status":"Failed","error":{"code":"InUse","message":"in use"}}`)
			return
		}
		if !y.there[name] {
			jobstest.SayAbsent(w, r.URL.Path)
			return
		}
		fmt.Fprint(w, `{"properties":{"provisioningState":"Succeeded"}}`)
		return
	}
	y.tried[name]++
	if y.answer != nil {
		tries := y.tried[name]
		answer := y.answer
		y.mu.Unlock()
		status, body := answer(name, tries)
		y.mu.Lock()
		if status < 0 { // no answer, and yet it is done
			y.there[name] = false
			panic(http.ErrAbortHandler)
		}
		if status != 0 {
			if status == http.StatusAccepted {
				w.Header().Set("Azure-AsyncOperation", "http://"+r.Host+r.URL.Path+"/operation?"+r.URL.RawQuery)
			}
			if y.pause != "" {
				w.Header().Set("Retry-After", y.pause)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return
		}
	}
	y.there[name] = false
	y.deleted[name]++
}

// begin marks the group.
func (y *deletionBench) begin() {
	y.T.Helper()
	job, err := y.Store.Deletions.Begin(y.T.Context(), jobstest.Subscription, y.group, inventory.DeletionRequest{
		Payload: func(g inventory.Group) string {
			return groupdelete.Payload{
				Group: g.Name, Incarnation: g.Incarnation,
				Commission: jobs.Commission{Correlation: "c0ffee00-0000-0000-0000-000000000000", Caller: access.Principal{TenantID: "t", ObjectID: "o"}},
			}.String()
		},
		Operation: polls.Operation{Token: "t", Until: time.Now().Add(time.Hour)},
	})
	if err != nil {
		y.T.Fatal(err)
	}
	y.job = job
}

// nothingElse is a last look that finds nothing.
type nothingElse struct{}

func (nothingElse) Allow(inventory.Group, []inventory.WrittenRegion) error { return nil }
func (nothingElse) Scan(context.Context, error) (bool, error)              { return false, nil }

// deletes runs a runner over a store, as one replica does. It verifies and tracks what
// the deletion leaves open.
func (y *deletionBench) deletes(store *inventory.Store, adjust ...func(*groupdelete.Deleter)) *jobstest.Runner {
	y.T.Helper()
	prober := y.Prober(store)
	deleter := &groupdelete.Deleter{
		Prober: prober, EmptinessCheck: func(groupdelete.Payload) groupdelete.EmptinessCheck { return nothingElse{} },
		Sender: jobs.NewOwner(), Region: "westus", PerEndpoint: 4, PerJob: 8, Budget: time.Minute, Limit: time.Minute, SendWithin: time.Second, Floor: jobstest.Floor, Log: zap.NewNop(),
	}
	for _, a := range adjust {
		a(deleter)
	}
	return y.Run(store, map[string]jobs.Kind{
		inventory.GroupDeleteJob: deleter,
		inventory.VerifyJob:      reconcile.Verifier{Prober: prober, Floor: jobstest.Floor, Patience: 20 * time.Second, VersionFallback: time.Hour, Region: "westus"},
		inventory.FollowJob: &reconcile.OperationTracker{
			Prober: prober, Floor: jobstest.Floor, Patience: 20 * time.Second, LostAfter: jobstest.Floor, Limit: time.Hour, Recheck: time.Hour, VersionFallback: time.Hour, Region: "westus",
		},
	})
}

func (y *deletionBench) ended() (jobrow.Job, groupdelete.Payload) {
	y.T.Helper()
	y.Within("the end of the deletion", func() bool { return y.Load(y.job.ID).State.Ended() })
	job := y.Load(y.job.ID)
	p, err := groupdelete.ReadPayload(job)
	if err != nil {
		y.T.Fatal(err)
	}
	return job, p
}

// settled returns the machines whose rows are gone, and how often each was deleted.
func (y *deletionBench) settled() map[string]int {
	y.mu.Lock()
	defer y.mu.Unlock()
	settled := map[string]int{}
	for name, times := range y.deleted {
		if _, there := y.Row(y.id(name)); !there {
			settled[name] = times
		}
	}
	return settled
}

func (y *deletionBench) count(of func() int) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return of()
}

// Work goes on with another runner where one was stopped, or lost its lease, in
// the middle of it; and nothing is deleted again whose success was settled.
func TestAnotherRunnerFinishesADeletion(t *testing.T) {
	const n = 60
	for name, leave := range map[string]func(y *deletionBench, first *jobstest.Runner){
		"stopped": func(_ *deletionBench, first *jobstest.Runner) { first.Stop() },
		"deposed": func(y *deletionBench, first *jobstest.Runner) {
			y.Within("a claim of the job that is held", func() bool {
				_ = y.Store.Jobs.Defer(context.Background(), y.Load(y.job.ID), time.Now().Add(-time.Second), "")
				stolen, err := y.Store.Jobs.Claim(context.Background(), "thief", time.Millisecond, 1, inventory.GroupDeleteJob)
				return err == nil && len(stolen) == 1
			})
			y.Within("its end", func() bool { return first.Metric(y.T, "portico_job_attempts_total", "group-delete", "deposed") > 0 })
			first.Stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := newDeletionBench(t, n, "1m")
			slow := make(chan struct{})
			y.answer = func(string, int) (int, string) {
				select {
				case <-slow:
				case <-time.After(20 * time.Millisecond):
				}
				return 0, ""
			}
			y.begin()
			first := y.deletes(y.Store)
			y.Within("a part of the work", func() bool { return y.count(func() int { return len(y.deleted) }) > n/4 })
			leave(y, first)
			settled, deleted := y.settled(), y.count(func() int { return len(y.deleted) })
			if name == "stopped" && len(settled) != deleted {
				t.Errorf("%d of %d were settled before the stop", len(settled), deleted)
			}
			close(slow)
			y.deletes(y.Open())
			job, p := y.ended()
			if job.State != jobrow.Done || p.Progress.Deleted != n {
				t.Errorf("%v %+v", job.State, p)
			}
			for name, times := range y.deleted {
				if before, ok := settled[name]; ok && times != before {
					t.Errorf("%s was deleted again, and its row was gone", name)
				}
			}
			for _, h := range y.headers {
				if h.Get("X-Ms-Correlation-Request-Id") != "c0ffee00-0000-0000-0000-000000000000" || h.Get("X-Ms-Client-Object-Id") != "o" || h.Get("Referer") == "" {
					t.Fatalf("%v", h)
				}
			}
		})
	}
}

// A DELETE that finds nothing proves nothing while a PUT is open. The deletion then asks as
// Portico itself: what a provider hides from its caller is there all the same.
func TestDeletionAsksAsPortico(t *testing.T) {
	y := newDeletionBench(t, 0, "1m")
	y.WriteTo(index.Put, y.id("m"), jobstest.Machines, "", inventory.WriteResult{Outcome: index.Ambiguous})
	y.begin()
	y.deletes(y.Store)
	if job, _ := y.ended(); job.State != jobrow.Done {
		t.Errorf("%+v", job)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if calls := len(y.headers) - y.tried["m"]; calls == 0 || y.callers != 0 {
		t.Errorf("%d of %d GETs named the deletion's caller", y.callers, calls)
	}
}

// Two runners, whose leases are taken from them at any time, end the deletion
// between them, whatever the provider answers, and forget nothing.
func TestDeletionSurvivesLostLeases(t *testing.T) {
	const n = 40
	y := newDeletionBench(t, n, "300ms")
	statuses := []int{409, 500, 503, 429, 0, 0, 0, 408, 0, -1}
	y.answer = func(name string, tries int) (int, string) {
		time.Sleep(time.Millisecond)
		if tries > 3 {
			return 0, ""
		}
		return statuses[(len(name)*7+int(name[3])*3+tries*5)%len(statuses)], "{}"
	}
	y.begin()
	y.deletes(y.Store)
	y.deletes(y.Open())
	thief := y.Open()
	for stolen := 0; stolen < 6 && !y.Load(y.job.ID).State.Ended(); {
		time.Sleep(7 * time.Millisecond)
		_ = thief.Jobs.Defer(context.Background(), y.Load(y.job.ID), time.Now().Add(-time.Second), "")
		jobs, err := thief.Jobs.Claim(context.Background(), "thief", time.Millisecond, 1, inventory.GroupDeleteJob)
		if err == nil {
			stolen += len(jobs)
		}
	}
	job, p := y.ended()
	if job.State != jobrow.Done {
		t.Fatalf("%v %s", job.State, p.Fault)
	}
	for name, there := range y.there {
		if there {
			t.Errorf("%s was forgotten", name)
		}
	}
	if _, err := y.Store.Group(t.Context(), jobstest.Subscription, "g"); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// A deletion that failed shows the provider's own errors, in the order of the ids.
func TestFailedDeletionsNameTheirLeftovers(t *testing.T) {
	y := newDeletionBench(t, 5, "1m")
	y.answer = func(name string, _ int) (int, string) {
		switch name {
		case "m001":
			return 409, `{"error":{"code":"InUse","message":"in use"}}`
		case "m003":
			return 400, ""
		}
		return 0, ""
	}
	y.begin()
	r := y.deletes(y.Store)
	job, p := y.ended()
	var fault struct {
		Code, Message string
		Details       []struct {
			Code            *string
			Target, Message string
		}
	}
	if err := json.Unmarshal(p.Fault, &fault); err != nil {
		t.Fatal(err)
	}
	if job.State != jobrow.Failed || fault.Code != "ResourceGroupDeletionBlocked" || len(fault.Details) != 2 ||
		fault.Details[0].Target != y.id("m001") || fault.Details[0].Code == nil || *fault.Details[0].Code != "InUse" || fault.Details[0].Message != "in use" ||
		!strings.Contains(fault.Details[1].Message, "Bad Request") || !strings.Contains(fault.Message, "c0ffee00") {
		t.Errorf("%v %s", job.State, p.Fault)
	}
	y.Within("the count", func() bool {
		return r.Metric(t, "portico_group_deletes_total", "ResourceGroupDeletionBlocked") == 1 && r.Metric(t, "portico_group_delete_calls_total", "gone") == 3
	})
	group, err := y.Store.Group(t.Context(), jobstest.Subscription, "g")
	if err != nil || group.State != index.GroupActive {
		t.Errorf("%+v %v", group, err)
	}
}

// A DELETE that was accepted and has failed by the next attempt is a refusal, as for the attempt
// that sent it: it is not sent again before anything has changed.
func TestAcceptedDeletionsThatFailAreRefusals(t *testing.T) {
	y := newDeletionBench(t, 2, "1m")
	y.answer = func(name string, _ int) (int, string) {
		if name == "m000" {
			return http.StatusAccepted, ""
		}
		return 0, ""
	}
	y.begin()
	y.deletes(y.Store, func(k *groupdelete.Deleter) { k.Limit = 20 * time.Second })
	job, p := y.ended()
	if job.State != jobrow.Failed || !strings.Contains(string(p.Fault), "ResourceGroupDeletionBlocked") || y.tried["m000"] > 2 {
		t.Errorf("%v %s, after %v", job.State, p.Fault, y.tried)
	}
}

// Every failure that may pass is tried again.
func TestTransientFailuresAreRetried(t *testing.T) {
	y := newDeletionBench(t, 8, "300ms")
	statuses := []int{500, 502, 503, 504, 429, 408, 501, 409}
	y.answer = func(name string, tries int) (int, string) {
		var i int
		fmt.Sscanf(name, "m%03d", &i)
		if tries <= 2 && (statuses[i] != 409 || tries == 1) {
			return statuses[i], "{}"
		}
		return 0, ""
	}
	y.begin()
	y.deletes(y.Store)
	if job, p := y.ended(); job.State != jobrow.Done {
		t.Errorf("%v %s", job.State, p.Fault)
	}
	if y.tried["m007"] != 2 || y.tried["m000"] != 3 {
		t.Errorf("%v", y.tried)
	}
}

// A deletion that waits for a drained region uses up neither its limit nor the budget of a
// resource, and goes on once the region is back.
func TestDeletionWaitsForADrainedRegion(t *testing.T) {
	y := newDeletionBench(t, 2, "300ms")
	back := false
	y.answer = func(string, int) (int, string) {
		y.mu.Lock()
		defer y.mu.Unlock()
		if back {
			return 0, ""
		}
		return 500, "{}"
	}
	if err := y.Store.Drains.Put(t.Context(), inventory.Drain{Place: "westus", Reason: "rack move", Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	const limit = 5 * time.Second
	y.begin()
	y.deletes(y.Store, func(k *groupdelete.Deleter) { k.Budget, k.Limit = time.Millisecond, limit })
	y.Within("a wait beyond the limit", func() bool {
		p, err := groupdelete.ReadPayload(y.Load(y.job.ID))
		return err == nil && p.Drained > limit || y.Load(y.job.ID).State.Ended()
	})
	y.count(func() int { back = true; return 0 })
	if job, p := y.ended(); job.State != jobrow.Done {
		t.Errorf("%v %s", job.State, p.Fault)
	}
}

// What stands before a provider says nothing of a resource, be it with a 404 or with a 200.
func TestAnswersOfOthersAreNoDeletions(t *testing.T) {
	y := newDeletionBench(t, 4, "1m")
	lies := []struct {
		status int
		body   string
	}{{200, "<!DOCTYPE html><h1>The service is starting</h1>"}, {404, "<!DOCTYPE html><h1>404 Not Found</h1>"}, {404, `{"error":{"code":"SubscriptionNotFound","message":"m"}}`}, {201, `{"properties"`}}
	y.answer = func(name string, tries int) (int, string) {
		if tries > 2 {
			return 0, ""
		}
		lie := lies[name[3]-'0']
		return lie.status, lie.body
	}
	y.begin()
	y.deletes(y.Store)
	if job, p := y.ended(); job.State != jobrow.Done {
		t.Errorf("%v %s", job.State, p.Fault)
	}
	for name, there := range y.there {
		if there || y.tried[name] != 3 {
			t.Errorf("%s was tried %d times, and is there: %v", name, y.tried[name], there)
		}
	}
}

// A refusal that names a pause, and nothing that it waits for, is one for the
// time being: the last pass over what was refused does not end it.
func TestRefusalsWithRetryAfterAreRetried(t *testing.T) {
	y := newDeletionBench(t, 2, "1s")
	y.pause = "1"
	y.answer = func(_ string, tries int) (int, string) {
		if tries <= 2 {
			return http.StatusConflict, `{"error":{"code":"Busy","message":"Later."}}`
		}
		return 0, ""
	}
	y.begin()
	started := time.Now()
	y.deletes(y.Store)
	if job, p := y.ended(); job.State != jobrow.Done {
		t.Errorf("%v %s", job.State, p.Fault)
	}
	if y.tried["m000"] != 3 || y.tried["m001"] != 3 || time.Since(started) < 2*time.Second {
		t.Errorf("%v within %v", y.tried, time.Since(started))
	}
}

// No more calls are under way than an endpoint may have, of all groups.
func TestGroupDeletionsShareTheirEndpoints(t *testing.T) {
	y := newDeletionBench(t, 40, "1m")
	var now, most int
	var mu sync.Mutex
	y.answer = func(string, int) (int, string) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		return 0, ""
	}
	y.begin()
	y.deletes(y.Store, func(k *groupdelete.Deleter) { k.PerEndpoint = 3 })
	y.ended()
	if most != 3 {
		t.Errorf("%d calls at a time", most)
	}
}
