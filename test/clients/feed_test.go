package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// follower is a program that keeps a list of what exists by the change feed alone.
type follower struct {
	t       *testing.T
	command func() *exec.Cmd
	file    string
	running *exec.Cmd
	said    *strings.Builder
}

func newFollower(t *testing.T, mode, admin string) *follower {
	t.Helper()
	f := &follower{t: t, file: filepath.Join(t.TempDir(), "state.json")}
	f.command = func() *exec.Cmd {
		return exec.CommandContext(t.Context(), "node", "feed/follow.mjs", mode, admin, f.file)
	}
	f.start()
	t.Cleanup(f.kill)
	return f
}

func (f *follower) start() {
	f.t.Helper()
	f.running, f.said = f.command(), &strings.Builder{}
	f.running.Stderr = f.said
	if err := f.running.Start(); err != nil {
		f.t.Fatal(err)
	}
}

// kill ends the program wherever it is.
func (f *follower) kill() {
	_ = f.running.Process.Kill() // it may have ended, which its list shows
	_ = f.running.Wait()
}

// followed is what a follower has kept.
type followed struct {
	Token  string
	Exists map[string]string
	Seen   int
}

func (f *follower) read() (kept followed) {
	f.t.Helper()
	text, err := os.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return kept
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return kept
}

// resources are the IDs of the resources and the groups that a follower knows, folded.
func (f *follower) resources() (ids []string) {
	f.t.Helper()
	for id := range f.read().Exists {
		segments := strings.Split(id, "/")
		if len(segments) == 5 || len(segments) > 6 && segments[6] == "contoso.compute" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// listed are the IDs of the resources and groups that Portico itself lists, folded.
func listed(t *testing.T, w *harness.World) (ids []string) {
	t.Helper()
	for _, list := range []string{"/resources", "/resourcegroups"} {
		next := w.SubscriptionPath() + list + "?api-version=2021-04-01"
		for next != "" {
			page := w.Portico.Do(t, harness.Request{Path: next}).Want(t, 200)
			var body struct {
				Value    []struct{ ID string }
				NextLink string
			}
			harness.OK(t, json.Unmarshal(page.Body, &body))
			for _, r := range body.Value {
				ids = append(ids, strings.ToLower(r.ID))
			}
			next = strings.TrimPrefix(body.NextLink, w.Portico.URL)
		}
	}
	slices.Sort(ids)
	return ids
}

// churn makes, changes, fails, moves and deletes resources of groups of its own, as fast
// as it can, for a number of steps.
func churn(t *testing.T, w *harness.World, worker, steps int) {
	random := rand.New(rand.NewPCG(uint64(worker), uint64(time.Now().UnixNano())))
	region := harness.RegionNames()[worker%3]
	call := func(method, path, body string, header ...string) {
		_, err := w.Portico.Try(t.Context(), harness.Request{Method: method, Path: path + "?api-version=" + harness.Version, Body: body, Header: harness.Header(header...)})
		if err != nil {
			time.Sleep(100 * time.Millisecond) // the gateway was killed: leave steps for when it is back
		}
	}
	faults := []string{"status=400", "reset-after", "reset-before", "status=500", "async=status", "async-fails=status", "async-fails=location", "late=200ms"}
	for step := range steps {
		group := fmt.Sprintf("Churn%d-%d", worker, step/25)
		if step%25 == 0 {
			if step%50 == 25 { // every other one stays
				call(http.MethodDelete, w.GroupPath(fmt.Sprintf("Churn%d-%d", worker, step/25-1)), "")
			}
			call(http.MethodPut, w.GroupPath(group), `{"location":"westus"}`)
		}
		at := w.ResourcePath(group, fmt.Sprintf("Contoso.Compute/virtualMachines/m%d", random.IntN(4)))
		switch n := random.IntN(10); {
		case n < 4:
			call(http.MethodPut, at, `{"location":"`+region+`"}`)
		case n < 6:
			call(http.MethodPut, at+"/disks/d", `{}`)
		case n < 7:
			call(http.MethodPut, at, `{"location":"`+region+`"}`, "x-contoso-fault", faults[random.IntN(len(faults))])
		case n < 8 && step%25 > 12 && random.IntN(3) == 0:
			call(http.MethodPut, w.GroupPath(group+"-to"), `{"location":"westus"}`)
			call(http.MethodPost, w.GroupPath(group)+"/moveResources", `{"targetResourceGroup":"`+w.GroupPath(group+"-to")+`","resources":["`+at+`"]}`)
		case n < 8:
			call(http.MethodPatch, at, `{"tags":{"a":"b"}}`)
		case n < 9:
			call(http.MethodDelete, at, "", "x-contoso-fault", faults[random.IntN(len(faults))])
		default:
			call(http.MethodDelete, at, "")
		}
	}
}

// A program in another language that was written from docs/events.md keeps, by the feed
// alone, the list that Portico itself has: killed again and again, and so is the gateway.
func TestFollowersKnowWhatExists(t *testing.T) {
	t.Parallel()
	harness.Installed(t, "node")
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Extra: "upstream: {callTimeout: 4s}\nindex: {sendWithin: 4s, lateWriteWindow: 500ms, callMargin: 500ms, pollFloor: 50ms, askTimeout: 2s}\nthrottle: {enabled: false}",
	}})
	followers := map[string]*follower{}
	for _, mode := range []string{"poll", "stream"} {
		followers[mode] = newFollower(t, mode, w.Portico.AdminURL)
	}
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() { churn(t, w, worker, 150) })
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	for round, over := 0, false; !over; round++ {
		select {
		case <-done:
			over = true
		case <-time.After(700 * time.Millisecond):
		}
		for _, mode := range slices.Sorted(maps.Keys(followers)) {
			followers[mode].kill()
			if text := followers[mode].said.String(); text != "" {
				t.Fatalf("%s: %s", mode, text)
			}
			followers[mode].start()
		}
		if round == 1 {
			w.Portico.Kill(t)
			w.Portico.Restart(t)
		}
	}
	for _, mode := range slices.Sorted(maps.Keys(followers)) {
		f := followers[mode]
		var got, want []string
		harness.Await(t, 2*time.Minute, "the list of "+mode, func() bool {
			got, want = f.resources(), listed(t, w)
			return slices.Equal(got, want)
		})
		if len(want) < 10 || f.read().Seen < 200 {
			t.Errorf("%s: only %d resources of %d events", mode, len(want), f.read().Seen)
		}
	}
}
