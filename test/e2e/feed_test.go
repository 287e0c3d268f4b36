package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"portico/test/harness"
)

// fed is an event of the change feed.
type fed struct {
	ID, Type, Subject, Sequence string
	Data                        struct {
		Status, CorrelationID string
	}
}

// feedReader reads the feed of a world from the first event on, at one replica after the
// other, and goes on wherever it was.
type feedReader struct {
	w        *harness.World
	token    string
	reported []fed
	// once reads some events; an error means that the replica did not answer to the end.
	once func(ctx context.Context, r *feedReader, admin string) error
}

// run reads until ctx ends, or what was told is enough.
func (r *feedReader) run(ctx context.Context, enough func([]fed) bool) {
	for i := 0; ctx.Err() == nil && !enough(r.reported); i++ {
		if err := r.once(ctx, r, r.w.Replicas[i%len(r.w.Replicas)].AdminURL); err != nil {
			time.Sleep(50 * time.Millisecond) // it was killed, or ends
		}
	}
}

func getFeed(ctx context.Context, target string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		err = errors.New(answer.Status)
	}
	return answer, err
}

func readPage(ctx context.Context, r *feedReader, admin string) error {
	answer, err := getFeed(ctx, admin+"/admin/changes?wait=1s&limit=7&after="+r.token, http.Header{})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var page struct {
		Value []fed
		Next  string
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return err
	}
	r.reported, r.token = append(r.reported, page.Value...), page.Next
	return nil
}

func readStream(ctx context.Context, r *feedReader, admin string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // then at another replica
	defer cancel()
	header := harness.Header("Accept", "text/event-stream")
	if r.token != "" {
		header.Set("Last-Event-ID", r.token)
	}
	answer, err := getFeed(ctx, admin+"/admin/changes", header)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var token string
	var e *fed
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			token = value
		case "data":
			e = &fed{}
			if err := json.Unmarshal([]byte(value), e); err != nil {
				return err
			}
		case "": // the message has come whole
			if e != nil {
				r.reported = append(r.reported, *e)
			}
			r.token, e = token, nil
		}
	}
	return lines.Err()
}

// feedWrites writes to machines of a group at all replicas until it is stopped.
type feedWrites struct {
	stop, ended func()
	mu          sync.Mutex
	done        map[string]string // correlation id of what has succeeded, to what that was
	n           atomic.Int64
}

func startFeedWrites(t *testing.T, w *harness.World, group string) *feedWrites {
	ctx, cancel := context.WithCancel(t.Context())
	f := &feedWrites{stop: cancel, done: map[string]string{}}
	var parts sync.WaitGroup
	for i := range 6 {
		parts.Go(func() {
			p := w.Replicas[i%len(w.Replicas)]
			at := w.ResourcePath(group, fmt.Sprintf("Contoso.Compute/virtualMachines/m%d", i/2)) + "?api-version=" + harness.Version
			for n := 0; ctx.Err() == nil; n++ {
				method := []string{http.MethodPut, http.MethodPut, http.MethodPatch, http.MethodDelete}[n%4]
				content := body(harness.RegionNames()[0])
				if method != http.MethodPut {
					content = `{"tags":{"a":"b"}}`
				}
				id := uuid.NewString()
				answer, err := p.Try(context.WithoutCancel(ctx), harness.Request{Method: method, Path: at, Body: content, Header: harness.Header("x-ms-correlation-request-id", id)})
				if err != nil {
					time.Sleep(50 * time.Millisecond) // it was killed
					continue
				}
				f.n.Add(1)
				if answer.Status == 200 || answer.Status == 201 {
					f.mu.Lock()
					f.done[id] = method + " " + strconv.Itoa(answer.Status)
					f.mu.Unlock()
				}
			}
		})
	}
	f.ended = parts.Wait
	t.Cleanup(func() { cancel(); parts.Wait() })
	return f
}

// Readers that go by tokens are told of each change once, in one order, by pages and by a
// stream, while gateways write and are killed.
func TestFeedThroughKills(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(t *testing.T) harness.WorldOptions{
		"SQLite": func(*testing.T) harness.WorldOptions {
			return harness.WorldOptions{Config: harness.Config{Extra: patient(replicaSettings)}}
		},
		"PostgreSQL": func(t *testing.T) harness.WorldOptions {
			return harness.WorldOptions{Replicas: 2, Config: harness.Config{
				Postgres: harness.StartPostgres(t).CreateDatabase(t, "feed"), Extra: patient(replicaSettings),
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t, options(t))
			w.PutGroup(t, "rg")
			var mu sync.Mutex
			var all []fed // the whole feed, once no one writes
			enough := func(reported []fed) bool {
				mu.Lock()
				defer mu.Unlock()
				return all != nil && len(reported) >= len(all)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			readers := map[string]*feedReader{"pages": {w: w, once: readPage}, "stream": {w: w, once: readStream}}
			var reading sync.WaitGroup
			for _, r := range readers {
				reading.Go(func() { r.run(ctx, enough) })
			}
			writes := startFeedWrites(t, w, "rg")
			victim := w.Replicas[len(w.Replicas)-1]
			for round := range 3 {
				harness.Await(t, time.Minute, "writes", func() bool { return writes.n.Load() > int64(60*(round+1)) })
				victim.Kill(t)
				victim.Restart(t)
			}
			writes.stop()
			writes.ended()
			whole := settledFeed(t, w)
			mu.Lock()
			all = whole
			mu.Unlock()
			reading.Wait()
			for kind, r := range readers {
				if !slices.Equal(r.reported, whole) {
					t.Errorf("by %s %d events were told, of %d", kind, len(r.reported), len(whole))
				}
			}
			checkFeed(t, whole, writes.done)
		})
	}
}

// settledFeed reads the whole feed until no more is added: what was killed under way ends
// by time.
func settledFeed(t *testing.T, w *harness.World) []fed {
	t.Helper()
	r := &feedReader{w: w}
	quiet := 0
	harness.Await(t, 2*time.Minute, "the end of the feed", func() bool {
		before := len(r.reported)
		harness.OK(t, readPage(t.Context(), r, w.Portico.AdminURL))
		if quiet++; len(r.reported) > before {
			quiet = 0
		}
		return quiet > 8 // seconds: longer than any of what ends by time
	})
	return r.reported
}

// checkFeed wants each event once, in order, and one of each write that has succeeded.
func checkFeed(t *testing.T, all []fed, done map[string]string) {
	t.Helper()
	seen, reported, last := map[string]bool{}, map[string]int{}, int64(0)
	for _, e := range all {
		number, err := strconv.ParseInt(e.Sequence, 10, 64)
		if err != nil || number <= last || seen[e.ID] {
			t.Fatalf("behind %d comes %+v", last, e)
		}
		last, seen[e.ID] = number, true
		if e.Data.Status == "Succeeded" {
			reported[e.Data.CorrelationID]++
		}
	}
	for id, what := range done {
		if reported[id] == 0 {
			t.Errorf("%s has no event", what)
		}
	}
	if len(done) < 100 {
		t.Errorf("only %d writes have succeeded", len(done))
	}
}

// Who waits at one replica is told of what another does.
func TestFeedWakesAcrossReplicas(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Replicas: 2, Config: harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "wakes")}})
	r := &feedReader{w: w}
	r.token = w.Replicas[0].Admin(t, harness.Request{Path: "/admin/changes?after=latest"}).Want(t, 200).JSON(t)["next"].(string)
	woken := make(chan harness.Answer, 1)
	go func() {
		answer, err := w.Replicas[1].TryAdmin(t.Context(), harness.Request{Path: "/admin/changes?wait=60s&after=" + r.token})
		if err != nil {
			answer.Body = []byte(err.Error())
		}
		woken <- answer
	}()
	w.PutGroup(t, "rg")
	if got := <-woken; got.Status != 200 || !strings.Contains(string(got.Body), w.GroupPath("rg")) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// What went with its group says so, though the gateway that was told to delete it was
// killed, and who asks finds neither the resource nor the group.
func TestHistoryOutlivesGroupAndGateway(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Replicas: 2, Config: harness.Config{
		Postgres: harness.StartPostgres(t).CreateDatabase(t, "history"), Extra: patient(deletionSettings),
	}})
	w.PutGroup(t, "rg")
	m := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/m")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/m", body("westus"))
	doomed, left := w.Replicas[0], w.Replicas[1]
	const correlation = "00000000-0000-0000-0000-0000000000c1"
	doomed.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath("rg") + "?api-version=2021-04-01", Header: harness.Header("x-ms-correlation-request-id", correlation)}).Want(t, 202)
	doomed.Kill(t)
	harness.Await(t, time.Minute, "the end of the group", func() bool {
		return left.Do(t, harness.Request{Path: w.GroupPath("rg") + "?api-version=2021-04-01"}).Status == 404
	})
	for _, id := range []string{m, w.GroupPath("rg")} {
		changes := left.Do(t, harness.Request{Path: id + "/providers/Microsoft.Resources/changes?api-version=2022-05-01"}).Want(t, 200).Values(t)
		if len(changes) < 2 {
			t.Fatalf("%s: %v", id, changes)
		}
		end := changes[0]["properties"].(map[string]any)
		attributes := end["changeAttributes"].(map[string]any)
		if end["changeType"] != "Delete" || end["status"] != "Succeeded" || end["job"] != "group-delete" || attributes["correlationId"] != correlation ||
			id == m && end["groupDeletion"] != w.GroupPath("rg") {
			t.Errorf("%s: %v", id, end)
		}
	}
}
