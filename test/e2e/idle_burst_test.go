package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory/memory"
	"portico/test/harness"
)

// After a pause memory is out of date. All requests that find it so share one question
// to the store: a burst of them costs what one of them does.
func TestBurstAfterAPauseAsksOnce(t *testing.T) {
	t.Parallel()
	const resources, burst = 4, 200
	postgres := harness.StartPostgres(t)
	trips := harness.StartRoundTrips(t, postgres.Address)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Postgres: strings.Replace(postgres.CreateDatabase(t, "portico"), postgres.Address, trips.Address, 1),
		Tokens:   []harness.Token{alice, dora}, Owners: []string{alice.ObjectID},
		Extra: "\nindex: {cacheTTL: 1h, sweepInterval: 0s}\n", // nothing is forgotten for its age
	}})
	w.PutGroup(t, "rg")
	role(t, w.Portico, w.GroupPath("rg"), "00000000-0000-0000-0000-000000000001", contributorRole)
	var paths []string
	for i := range resources {
		name := machines + "vm" + strconv.Itoa(i)
		w.PutResource(t, "rg", name, `{"location":"westus"}`)
		paths = append(paths, w.ResourcePath("rg", name)+machineVersion)
	}
	read := func(i int) {
		t.Helper()
		got, err := w.Portico.Try(t.Context(), harness.Request{Path: paths[i%resources], Header: harness.Header("Authorization", "Bearer "+dora.Raw)})
		if err != nil || got.Status != 200 {
			t.Errorf("%d %s %v", got.Status, got.Body, err)
		}
	}
	taken := func() []harness.RoundTrip {
		return slices.DeleteFunc(trips.Take(), func(trip harness.RoundTrip) bool {
			return !slices.ContainsFunc(trip.Statements, ofScopes)
		})
	}
	harness.Await(t, time.Minute, "a question that finds nothing new", func() bool {
		taken()
		for i := range resources {
			read(i)
		}
		asked := taken()
		return len(asked) == 1 && ofChanges(asked[0].Statements[0])
	})
	// What jobs change in the pause is read anew: a later burst finds nothing new.
	harness.Await(t, 2*time.Minute, "a burst after a pause that asks once", func() bool {
		time.Sleep(2 * memory.Bound)
		taken()
		begun := time.Now()
		var all sync.WaitGroup
		for i := range burst {
			all.Go(func() { read(i) })
		}
		all.Wait()
		// While it lasts it asks again, no more than once an interval.
		got, most := taken(), 1+int(time.Since(begun)/memory.Interval)
		if len(got) == 0 || len(got) > most {
			t.Logf("%d GETs after a pause took %d round trips, of at most %d:\n%s", burst, len(got), most, describe(got[:min(len(got), 10)]))
			return false
		}
		return true
	})
}

// ofChanges reports whether a statement asks what has changed.
func ofChanges(statement string) bool { return strings.Contains(statement, " FROM scope_changes ") }

// ofScopes reports whether a statement reads what a GET depends on.
func ofScopes(statement string) bool {
	_, from, _ := strings.Cut(statement, " FROM ")
	table, _, _ := strings.Cut(from, " ")
	return slices.Contains([]string{"scope_changes", "subscriptions", "resource_groups", "registrations", "role_assignments", "role_definitions", "resources"}, table)
}

// What a burst of connections took is given back once they rest, though they stay open: of
// each is left what it needs to go on, and not what its answer took.
func TestMemoryOfABurstIsGivenBack(t *testing.T) {
	t.Parallel()
	const connections, ofEach = 4000, 10 << 10
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"vm", `{"location":"westus"}`)
	path := w.ResourcePath("rg", machines+"vm") + machineVersion
	w.Portico.Do(t, harness.Request{Path: path}).Want(t, 200)
	before := memoryFromSystem(t, w.Portico)
	address := strings.TrimPrefix(w.Portico.URL, "http://")
	open, slots := make([]net.Conn, connections), make(chan struct{}, 200)
	defer func() {
		for _, c := range open {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	var all sync.WaitGroup
	for i := range open {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			open[i] = c
			if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address); err != nil {
				t.Error(err)
				return
			}
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("%v, %v", answer, err)
				return
			}
			_, err = io.Copy(io.Discard, answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	peak := memoryFromSystem(t, w.Portico) // where the burst took long, some was given back by now
	harness.Await(t, 100*time.Second, fmt.Sprintf("less than %d KiB more for each of %d connections than before; at first it was %d KiB", ofEach>>10, connections, (peak-before)/connections>>10), func() bool {
		time.Sleep(2 * time.Second) // to be asked all the time is no rest
		return memoryFromSystem(t, w.Portico) < before+connections*ofEach
	})
}

// memoryFromSystem is how much memory the runtime of a gateway has from the system. What the
// race detector takes for each byte of it, and never gives back, does not count.
func memoryFromSystem(t *testing.T, p *harness.Portico) int {
	t.Helper()
	return int(p.Metric(t, "go_memstats_sys_bytes") - p.Metric(t, "go_memstats_heap_released_bytes"))
}
