package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"portico/test/harness"
)

var (
	long   = flag.Bool("chaos.long", false, "20,000 writes and 30 kills of gateways")
	seed   = flag.Uint64("chaos.seed", 0, "determines the schedule of faults; 0 takes a random one")
	writes = flag.Int64("chaos.writes", 0, "how many writes, in place of the form's own number")
	kills  = flag.Int("chaos.kills", 0, "how many kills of gateways, in place of the form's own number")
	store  = flag.String("chaos.store", "postgres", "postgres, or sqlite with one gateway")
	odd    = flag.String("chaos.odd", "", "oddities of providers, by their names, beside those that are on: several separated by commas, or all")
	out    = flag.String("chaos.out", "", "folder for what is needed to understand a failure; by default the test's artifacts")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	clients = 12
	// settleBound is how long everything may take to settle: open writes end by
	// time, and are then looked up.
	settleBound = 3 * time.Minute
	// sweepInterval is how often the gateways sweep where the seed is odd.
	sweepInterval = 5 * time.Second
	// checkBound limits the check of one resource's history.
	checkBound = 2 * time.Minute
)

// form is the size of a run and its time limit.
type form struct {
	writes int64
	kills  int
	bound  time.Duration
}

func chosenForm() form {
	f := form{2000, 6, 6 * time.Minute}
	if *long {
		f = form{20000, 30, 40 * time.Minute}
	}
	if *writes > 0 {
		f.writes = *writes
		f.bound = max(f.bound, time.Duration(*writes)*100*time.Millisecond)
	}
	if *kills > 0 {
		f.kills = *kills
	}
	return f
}

func TestChaos(t *testing.T) {
	f, chosen := chosenForm(), *seed
	if chosen == 0 {
		chosen = rand.Uint64N(1 << 32)
	}
	sweeps := time.Duration(chosen%2) * sweepInterval
	t.Logf("seed %d: %d writes, %d kills, sweeps every %v (0: never)", chosen, f.writes, f.kills, sweeps)
	r := &run{
		site: newSite(t, *store == "postgres", sweeps), clock: since(), count: newCounts(), resources: allResources(),
		total: f.writes, pace: 60 * time.Millisecond, hints: map[string]string{},
	}
	r.consumer = &consumer{site: r.site, random: rand.New(rand.NewPCG(chosen, 1001))}
	r.work(t, f, chosen)
	worked := r.clock()
	r.site.calm(t)
	quiet := r.site.settle(t, settleBound)
	r.settleSubscriptions(t)
	r.finalReads(t)
	r.site.lists(t)
	r.checkEvents(t)
	started := r.clock()
	r.checkHistories(t)
	if r.staleReads == 0 || r.staleGroupReads == 0 {
		t.Errorf("histories long enough to put a stale read into: %d, after a group's delete: %d", r.staleReads, r.staleGroupReads)
	}
	text := r.report(chosen, worked, quiet, r.clock()-started)
	t.Log("\n" + text)
	for _, s := range r.count.surprises {
		t.Errorf("an answer that no client should get: %s", s)
	}
	if n := r.count.surprised; n > maxSurprises {
		t.Errorf("and %d more of them", n-maxSurprises)
	}
	if t.Failed() {
		r.keep(t, "report.txt", text)
		for i, g := range r.site.gateways {
			r.keep(t, fmt.Sprintf("gateway-%d.log", i), g.Logs())
		}
	}
}

// work runs the clients and the faults until both are done.
func (r *run) work(t *testing.T, f form, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), f.bound)
	var working, disturbing sync.WaitGroup
	defer func() { // a fault that could not be undone ends the test
		cancel()
		working.Wait()
		disturbing.Wait()
	}()
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	for n := range clients {
		c := &client{run: r, number: n, random: random(uint64(n) + 1)}
		working.Go(func() { c.work(ctx) })
	}
	faulty, endFaults := context.WithCancel(ctx)
	disturbing.Go(func() { r.misbehave(faulty, t, random(1000)) })
	disturbing.Go(func() { r.consumer.follow(faulty) })
	for n, id := range subscriptions {
		c := &client{run: r, number: clients + 1 + n, random: random(uint64(2000 + n))}
		s := &subscriptionClient{client: c, id: id, answered: map[string]bool{}}
		r.subscriptionClients = append(r.subscriptionClients, s)
		disturbing.Go(func() { s.work(faulty) })
	}
	faults := schedule(random(0), f.kills, r.site.shared())
	last := len(faults) - 1
	r.injectFaults(ctx, t, faults[:last])
	working.Wait()
	r.injectFaults(ctx, t, faults[last:])
	endFaults()
	disturbing.Wait()
	if sent := r.writes.Load(); sent < f.writes {
		t.Errorf("%d of %d writes were sent within %v", sent, f.writes, f.bound)
	}
}

// finalReads reads each resource through each replica, so that the history shows
// how every write ended.
func (r *run) finalReads(t *testing.T) {
	c := &client{run: r, number: clients, random: rand.New(rand.NewPCG(1, 1))}
	for _, on := range r.resources {
		for replica := range r.site.gateways {
			if o := c.get(t.Context(), on, replica); o.Verdict != seen && o.Verdict != absent {
				t.Errorf("a last read of %s: %v", on.key(), o)
			}
			if o := c.head(t.Context(), on, replica); o.Verdict != exists && o.Verdict != absent {
				t.Errorf("a last read of %s: %v", on.key(), o)
			}
		}
	}
}

// checkHistories checks that the history of each resource is linearizable.
func (r *run) checkHistories(t *testing.T) {
	for key, operations := range r.history.byResource() {
		started := time.Now()
		verdict := linearizable(operations, checkBound)
		r.longestCheck = max(r.longestCheck, time.Since(started))
		switch verdict {
		case porcupine.Ok:
			r.insertStaleReads(t, key, operations)
		case porcupine.Unknown:
			t.Errorf("%s: not judged within %v", key, checkBound)
			r.dumpHistory(t, key, operations)
		case porcupine.Illegal:
			t.Errorf("%s: what was seen of it is not linearizable", key)
			r.dumpHistory(t, key, operations)
		}
	}
}

// insertStaleReads adds a read to a linearizable history: it shows an acknowledged
// value that was later replaced, or deleted with its group. The checker must
// reject the changed history, or its first verdict proves nothing.
func (r *run) insertStaleReads(t *testing.T, key string, operations []operation) {
	if stale, ok := staleRead(operations); ok {
		r.staleReads++
		r.mustFind(t, key, operations, stale)
	}
	if stale, ok := staleAfterGroup(operations); ok {
		r.staleGroupReads++
		r.mustFind(t, key, until(operations, stale.Return), stale)
	}
}

func (r *run) mustFind(t *testing.T, key string, operations []operation, stale operation) {
	started := time.Now()
	if got := linearizable(append(slices.Clone(operations), stale), checkBound); got != porcupine.Illegal {
		t.Errorf("%s: with the stale read %v, put in by hand, the history is judged %s", key, stale, got)
	}
	r.longestCheck = max(r.longestCheck, time.Since(started))
}

// staleRead returns a read, after all operations, of an acknowledged value that
// the last read no longer showed.
func staleRead(operations []operation) (stale operation, ok bool) {
	var end time.Duration
	var last operation
	for _, o := range operations {
		end = max(end, o.Return)
		if o.Verdict == seen || o.Verdict == absent {
			last = o
		}
	}
	for _, o := range operations {
		if (o.Verdict == created || o.Verdict == replaced) && o.Return < last.Call && last.Seen.value != o.Value {
			return o.readAgain(end), true
		}
	}
	return operation{}, false
}

// staleAfterGroup returns a read of an acknowledged value just after the last
// successful delete of the group that began after the write.
func staleAfterGroup(operations []operation) (stale operation, ok bool) {
	var put operation
	for _, o := range operations { // in the order of their calls
		switch {
		case o.Verdict == created || o.Verdict == replaced:
			put = o
		case o.Verdict == vanished && o.Form == withGroup && put.Value != 0 && put.Return < o.Call:
			stale, ok = put.readAgain(o.Return), true
		}
	}
	return stale, ok
}

// readAgain returns a read of what a PUT wrote, just after a moment.
func (o operation) readAgain(after time.Duration) operation {
	return operation{
		Resource: o.Resource, Verb: get, Verdict: seen, Seen: content{o.Region, o.Value}, Call: after + 1, Return: after + 2, Answer: "by hand",
	}
}

// dumpHistory logs and keeps the history of a resource, and marks the first
// operation that cannot be explained.
func (r *run) dumpHistory(t *testing.T, key string, operations []operation) {
	at := stuck(operations, checkBound)
	var all, near strings.Builder
	for _, o := range operations {
		line := fmt.Sprintf("%12v %12v  client %d, replica %d  %v\n",
			o.Call.Round(time.Microsecond), o.Return.Round(time.Microsecond), o.Client, o.Replica, o)
		if o.Return == at {
			line = "stuck:\n" + line
		}
		all.WriteString(line)
		if o.Return > at-10*time.Second && o.Call <= at {
			near.WriteString(line)
		}
	}
	t.Logf("%s: the last seconds before it is stuck at %v:\n%s", key, at, near.String())
	name := strings.ReplaceAll(strings.Trim(key, "/"), "/", "_")
	r.keep(t, name+".txt", all.String())
	_, info := porcupine.CheckOperationsVerbose(resourceModel(), checkable(until(operations, at)), checkBound)
	if err := porcupine.VisualizePath(resourceModel(), info, filepath.Join(outFolder(t), name+".html")); err != nil {
		t.Error(err)
	}
}

func outFolder(t *testing.T) string {
	if *out == "" {
		return t.ArtifactDir()
	}
	harness.OK(t, os.MkdirAll(*out, 0o750))
	return *out
}

// keep writes a file that helps to understand a failure.
func (r *run) keep(t *testing.T, name, text string) {
	file := filepath.Join(outFolder(t), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Error(err)
		return
	}
	t.Logf("see %s", file)
}
