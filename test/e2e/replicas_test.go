package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// replicaSettings shortens what these tests would otherwise wait for.
const replicaSettings = `
index: {sendWithin: 1s, lateWriteWindow: 1s, callMargin: 500ms, pollFloor: 100ms, askTimeout: 10s}
upstream: {callTimeout: 2s}
jobs: {lease: 2s}
operations: {retryAfterMin: 1s, retryAfterMax: 2s, firstAnswer: 0s}
`

// password is the store's; no log may show it.
const password = "s3cr3t-0f-the-st0re"

// Several gateways over one PostgreSQL are one service.
func TestReplicas(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	for name, test := range map[string]func(*testing.T, *harness.World, *harness.Postgres){
		"what one wrote the others know at once":   testReadYourWrites,
		"made anew in another region":              testRecreatedElsewhere,
		"what one remembers another has ended":     testEndedElsewhere,
		"work outlives the gateway that holds it":  testWorkMoves,
		"a gateway that wakes late sends nothing":  testWakesTooLate,
		"the store goes and comes back":            testStoreGoesAndComesBack,
		"what outlives the crash of all and store": testAllCrash,
		"a list is walked over all of them":        testWalkOverReplicas,
	} {
		t.Run(name, func(t *testing.T) {
			// The server trusts everybody, with whatever password.
			settings := patient(replicaSettings)
			if name == "a gateway that wakes late sends nothing" {
				settings = replicaSettings
			}
			dsn := strings.Replace(postgres.CreateDatabase(t, strings.ReplaceAll(name, " ", "_")), "postgres@", "postgres:"+password+"@", 1)
			w := harness.NewWorld(t, harness.WorldOptions{
				Replicas: 2,
				Config:   harness.Config{Postgres: dsn, Extra: settings},
			})
			w.PutGroup(t, "rg")
			test(t, w, postgres)
			for i, p := range w.Replicas {
				if strings.Contains(p.Logs(), password) {
					t.Errorf("replica %d has logged the store's password", i)
				}
			}
		})
	}
}

func testReadYourWrites(t *testing.T, w *harness.World, _ *harness.Postgres) {
	for i := range 10 {
		writer, reader := w.Replicas[i%2], w.Replicas[(i+1)%2]
		group := fmt.Sprintf("rg-%d", i)
		id := w.ResourcePath(group, "Contoso.Compute/virtualMachines/vm")
		at := id + "?api-version=" + harness.Version
		writer.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath(group) + "?api-version=2021-04-01", Body: `{"location":"westus"}`}).Want(t, 201)
		reader.Do(t, harness.Request{Path: at}).WantError(t, 404, "ResourceNotFound")
		writer.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("eastus")}).Want(t, 201)

		reader.Do(t, harness.Request{Method: http.MethodHead, Path: at}).Want(t, 204)
		if got := reader.Do(t, harness.Request{Path: at}).Want(t, 200).JSON(t)["location"]; got != "eastus" {
			t.Errorf("the other replica reads it from %v", got)
		}
		reader.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("westus")}).WantError(t, 409, "InvalidResourceLocation")
		for _, list := range []string{
			w.GroupPath(group) + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version,
			w.GroupPath(group) + "/resources?api-version=2021-04-01",
		} {
			if got := reader.Do(t, harness.Request{Path: list}).Want(t, 200).Values(t); len(got) != 1 || got[0]["id"] != id {
				t.Errorf("the other replica lists %v", got)
			}
		}

		reader.Do(t, harness.Request{Method: http.MethodDelete, Path: at}).Want(t, 200)
		writer.Do(t, harness.Request{Method: http.MethodHead, Path: at}).Want(t, 404)
		writer.Do(t, harness.Request{Path: at}).WantError(t, 404, "ResourceNotFound")
		writer.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath(group) + "?api-version=2021-04-01"}).Want(t, 200)
		reader.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("eastus")}).WantError(t, 404, "ResourceGroupNotFound")
	}
}

// A replica that remembers the old region neither reads from there nor writes
// to it.
func testRecreatedElsewhere(t *testing.T, w *harness.World, _ *harness.Postgres) {
	behind, ahead := w.Replicas[0], w.Replicas[1]
	for i, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		id := w.ResourcePath("rg", fmt.Sprintf("Contoso.Compute/virtualMachines/vm%d", i))
		at := id + "?api-version=" + harness.Version
		behind.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("westus")}).Want(t, 201)
		behind.Do(t, harness.Request{Path: at}).Want(t, 200) // and remembers
		ahead.Do(t, harness.Request{Method: http.MethodDelete, Path: at}).Want(t, 200)
		ahead.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("eastus")}).Want(t, 201)

		r := harness.Request{Method: method, Path: at}
		switch method {
		case http.MethodPut:
			r.Body = body("eastus")
		case http.MethodPatch:
			r.Body = `{"tags":{"a":"b"}}`
		}
		a := behind.Do(t, r).Want(t, 200, 204)
		if method != http.MethodHead && method != http.MethodDelete && a.JSON(t)["location"] != "eastus" {
			t.Errorf("%s came from %v", method, a.JSON(t)["location"])
		}
		if method == http.MethodDelete {
			w.WantOnlyIn(t, "", id)
		} else {
			w.WantOnlyIn(t, "eastus", id)
		}
	}
}

// An operation that one gateway follows is followed to its end by another one
// when the first is killed while it holds the work, in the middle of a question
// that the provider is long in answering.
func testWorkMoves(t *testing.T, w *harness.World, _ *harness.Postgres) {
	first, second := w.Replicas[0], w.Replicas[1]
	id := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	at := id + "?api-version=" + harness.Version
	// Only the index is read: nothing else asks for the resource.
	list := w.GroupPath("rg") + "/resources?api-version=2021-04-01"
	listed := func(p *harness.Portico) int { return len(p.Do(t, harness.Request{Path: list}).Want(t, 200).Values(t)) }

	second.Stop(t) // so that it is the first that holds the work
	hangOnce(t, w, "/operationstatuses/")
	first.Do(t, harness.Request{
		Method: http.MethodPut, Path: at, Body: body("westus"),
		Header: harness.Header("X-Contoso-Async", "accepted-async", "X-Contoso-Duration", "3s"),
	}).Want(t, 202)
	soon(t, "the work is held", func() bool { return held(t, first) })
	second.Restart(t)
	first.Kill(t)
	soon(t, "the create is followed to its end", func() bool { return listed(second) == 1 })
	w.WantOnlyIn(t, "westus", id)

	hangOnce(t, w, "/virtualmachines/vm")
	second.Do(t, harness.Request{
		Method: http.MethodDelete, Path: at, Header: harness.Header("X-Contoso-Async", "no-url", "X-Contoso-Duration", "3s"),
	}).Want(t, 202)
	soon(t, "the work is held", func() bool { return held(t, second) })
	first.Restart(t)
	second.Kill(t)
	soon(t, "the delete is followed to its end", func() bool { return listed(first) == 0 })
	second.Restart(t)
	for _, p := range w.Replicas {
		soon(t, "no work is left", func() bool { return len(unfinishedJobs(t, p)) == 0 })
	}
}

// hangOnce has the provider in westus never end its answer to the next GET of
// a path that holds a word.
func hangOnce(t *testing.T, w *harness.World, word string) {
	t.Helper()
	w.Contoso("westus").Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults", Body: fmt.Sprintf(`{"method":"GET","pathContains":%q,"fault":"stall","count":1}`, word),
	}).Want(t, 201)
}

// held reports whether a gateway works on the only job that follows an operation.
func held(t *testing.T, p *harness.Portico) bool {
	t.Helper()
	jobs := p.Admin(t, harness.Request{Path: "/admin/jobs?kind=follow"}).Want(t, 200).Values(t)
	return len(jobs) == 1 && jobs[0]["owner"] != nil && jobs[0]["owner"] != ""
}

// unfinishedJobs lists the jobs about single resources that have not ended.
func unfinishedJobs(t *testing.T, p *harness.Portico) (jobs []map[string]any) {
	t.Helper()
	for _, kind := range []string{"verify", "follow"} {
		for _, job := range p.Admin(t, harness.Request{Path: "/admin/jobs?kind=" + kind}).Want(t, 200).Values(t) {
			if state := job["state"]; state != "Done" && state != "Failed" && state != "Cancelled" {
				jobs = append(jobs, job)
			}
		}
	}
	return jobs
}

// A gateway that is stopped between recording a write and sending it does not
// send it when it wakes up after its time.
func testWakesTooLate(t *testing.T, w *harness.World, postgres *harness.Postgres) {
	late, other := w.Replicas[0], w.Replicas[1]
	late.Stop(t)
	name(t, late, "late")
	late.Restart(t)
	id := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	at := id + "?api-version=" + harness.Version
	create(t, other, id, "westus")
	region := w.Contoso("westus")
	region.ForgetRequests(t)

	hold := postgres.BeginWith(t, databaseOf(w), "SELECT 1 FROM resource_groups FOR UPDATE")
	var answering sync.WaitGroup
	var answer harness.Answer
	var err error
	answering.Go(func() {
		answer, err = late.Try(t.Context(), harness.Request{Method: http.MethodDelete, Path: at})
	})
	postgres.WaitFor(t, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
		WHERE application_name = 'late' AND wait_event_type = 'Lock' AND query LIKE '%resource_groups%')`) // the write is being recorded
	late.Pause(t)
	hold.Rollback(t)
	time.Sleep(2 * time.Second) // twice sendWithin
	late.Resume(t)
	answering.Wait()
	harness.OK(t, err)
	answer.WantError(t, 503, "ServerTimeout")
	for _, r := range region.Requests(t) {
		if r.Method == http.MethodDelete {
			t.Errorf("the provider received %s %s", r.Method, r.Path)
		}
	}
	w.WantOnlyIn(t, "westus", id)
	late.Do(t, harness.Request{Method: http.MethodDelete, Path: at}).Want(t, 200)
	w.WantOnlyIn(t, "", id)
}

// name gives the connections of a Portico, from its next start on, a name by
// which the database knows them.
func name(t *testing.T, p *harness.Portico, application string) {
	t.Helper()
	text, err := os.ReadFile(p.ConfigFile)
	harness.OK(t, err)
	named := bytes.Replace(text, []byte("sslmode=disable"), []byte("sslmode=disable&application_name="+application), 1)
	if bytes.Equal(named, text) {
		t.Fatal("the configuration names no PostgreSQL database")
	}
	harness.OK(t, os.WriteFile(p.ConfigFile, named, 0o600))
}

// databaseOf is the name of the world's database.
func databaseOf(w *harness.World) string {
	name, _, _ := strings.Cut(w.Config.Postgres[strings.LastIndexByte(w.Config.Postgres, '/')+1:], "?")
	return name
}

// Without its store a gateway says that it is not ready, and refuses writes in
// words that have clients try again; it needs no restart when the store is
// back. What it has read before it reads all the while.
func testStoreGoesAndComesBack(t *testing.T, w *harness.World, postgres *harness.Postgres) {
	at := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm") + "?api-version=" + harness.Version
	put := harness.Request{Method: http.MethodPut, Path: at, Body: body("westus")}
	w.Portico.Do(t, put).Want(t, 201)
	for range 4 { // until it has heard of the changes before, which it then need not read again
		for _, p := range w.Replicas {
			p.Do(t, harness.Request{Path: at}).Want(t, 200)
		}
		time.Sleep(600 * time.Millisecond)
	}
	postgres.Stop(t)
	for _, p := range w.Replicas {
		p.Do(t, harness.Request{Path: at}).Want(t, 200)
		p.Admin(t, harness.Request{Path: "/readyz"}).Want(t, 503)
		p.Admin(t, harness.Request{Path: "/healthz"}).Want(t, 200)
		a := p.Do(t, put).WantError(t, 503, "ServerTimeout")
		if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 60 {
			t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
		}
	}
	postgres.Start(t)
	for _, p := range w.Replicas {
		soon(t, "it is ready", func() bool { return p.Admin(t, harness.Request{Path: "/readyz"}).Status == 200 })
		p.Do(t, put).Want(t, 200)
		p.Do(t, harness.Request{Path: at}).Want(t, 200)
	}
}

// A replica that remembers a group which another has deleted, or made anew, says what
// that one says; and it knows within moments of a subscription that is no more.
func testEndedElsewhere(t *testing.T, w *harness.World, _ *harness.Postgres) {
	behind, ahead := w.Replicas[0], w.Replicas[1]
	for i := range 5 {
		name := fmt.Sprintf("ended-%d", i)
		group := harness.Request{Method: http.MethodPut, Path: w.GroupPath(name) + "?api-version=2021-04-01", Body: `{"location":"westus"}`}
		at := w.ResourcePath(name, "Contoso.Compute/virtualMachines/vm") + "?api-version=" + harness.Version
		list := w.GroupPath(name) + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version
		behind.Do(t, group).Want(t, 201)
		behind.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("westus")}).Want(t, 201)
		for range 2 { // and remembers
			behind.Do(t, harness.Request{Path: at}).Want(t, 200)
			behind.Do(t, harness.Request{Path: list}).Want(t, 200)
		}
		ahead.Do(t, harness.Request{Method: http.MethodDelete, Path: at}).Want(t, 200)
		behind.Do(t, harness.Request{Path: at}).WantError(t, 404, "ResourceNotFound")
		ahead.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath(name) + "?api-version=2021-04-01"}).Want(t, 200)
		behind.Do(t, harness.Request{Path: at}).WantError(t, 404, "ResourceGroupNotFound")
		behind.Do(t, harness.Request{Path: list}).WantError(t, 404, "ResourceGroupNotFound")
		ahead.Do(t, group).Want(t, 201)
		behind.Do(t, harness.Request{Path: at}).WantError(t, 404, "ResourceNotFound")
	}
	create(t, behind, w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm"), "westus")
	at := harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm") + "?api-version=" + harness.Version}
	behind.Do(t, at).Want(t, 200)
	ahead.Admin(t, harness.Request{Method: http.MethodPut, Path: "/admin" + w.SubscriptionPath(), Body: `{"tenantId":"` + harness.TenantID + `","displayName":"Ended","state":"Deleted"}`}).Want(t, 200)
	soon(t, "the end is known", func() bool { return behind.Do(t, at).Status == 404 })
	behind.Do(t, at).WantError(t, 404, "SubscriptionNotFound")
}

// When both gateways and the store crash at once, what was acknowledged is
// known afterwards, at once and by all.
func testAllCrash(t *testing.T, w *harness.World, postgres *harness.Postgres) {
	placed := map[string]string{}
	for i, region := range harness.RegionNames() {
		name := fmt.Sprintf("Contoso.Compute/virtualMachines/vm%d", i)
		w.PutResource(t, "rg", name, body(region))
		placed[w.ResourcePath("rg", name)] = region
	}
	gone := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/gone") + "?api-version=" + harness.Version
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: gone, Body: body("westus")}).Want(t, 201)
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: gone}).Want(t, 200)
	postgres.Kill(t)
	for _, p := range w.Replicas {
		p.Kill(t)
	}
	postgres.Start(t)
	for i, p := range w.Replicas {
		p.Restart(t)
		for id, region := range placed {
			at := id + "?api-version=" + harness.Version
			p.Do(t, harness.Request{Method: http.MethodHead, Path: at}).Want(t, 204)
			if got := p.Do(t, harness.Request{Path: at}).Want(t, 200).JSON(t)["location"]; got != region {
				t.Errorf("replica %d reads %s from %v, want %s", i, id, got, region)
			}
		}
		p.Do(t, harness.Request{Method: http.MethodHead, Path: gone}).Want(t, 404)
	}
	w.Replicas[1].Do(t, harness.Request{Method: http.MethodPut, Path: gone, Body: body("eastus")}).Want(t, 201)
}

// soon waits until something happens.
func soon(t *testing.T, what string, happened func() bool) {
	t.Helper()
	harness.Await(t, settled, what, happened)
}
