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
	// restBound is how long it may take until everything is at rest: what is
	// open ends by time, and is then asked for.
	restBound = 3 * time.Minute
	// sweepInterval is how often the gateways sweep where the seed is odd.
	sweepInterval = 5 * time.Second
	// judgeBound is for the judgement of one resource.
	judgeBound = 2 * time.Minute
)

// form is how much is done, in how much time at most.
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
	r.work(t, f, chosen)
	worked := r.clock()
	r.site.calm(t)
	quiet := r.site.settle(t, restBound)
	r.lastRests(t)
	r.lastReads(t)
	r.site.lists(t)
	begun := r.clock()
	r.judge(t)
	if r.tempered == 0 || r.temperedGroup == 0 {
		t.Errorf("histories long enough to put a stale read into: %d, after a group's delete: %d", r.tempered, r.temperedGroup)
	}
	text := r.report(chosen, worked, quiet, r.clock()-begun)
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

// work has the clients write while faults strike, until both are done.
func (r *run) work(t *testing.T, f form, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), f.bound)
	var working, making sync.WaitGroup
	defer func() { // also when a fault could not be undone, which ends the test
		cancel()
		working.Wait()
		making.Wait()
	}()
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	for n := range clients {
		c := &client{run: r, number: n, random: random(uint64(n) + 1)}
		working.Go(func() { c.work(ctx) })
	}
	mischief, peace := context.WithCancel(ctx)
	making.Go(func() { r.mischief(mischief, t, random(1000)) })
	for n, id := range subscriptions {
		c := &client{run: r, number: clients + 1 + n, random: random(uint64(2000 + n))}
		k := &clerk{client: c, id: id, answered: map[string]bool{}}
		r.clerks = append(r.clerks, k)
		making.Go(func() { k.work(mischief) })
	}
	faults := schedule(random(0), f.kills, r.site.shared())
	last := len(faults) - 1
	r.strike(ctx, t, faults[:last])
	working.Wait()
	r.strike(ctx, t, faults[last:])
	peace()
	making.Wait()
	if sent := r.writes.Load(); sent < f.writes {
		t.Errorf("%d of %d writes were sent within %v", sent, f.writes, f.bound)
	}
}

// lastReads asks each replica for each resource, so that the history tells what
// became of every write.
func (r *run) lastReads(t *testing.T) {
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

// judge tells whether what the clients saw of each resource is linearizable.
func (r *run) judge(t *testing.T) {
	for key, operations := range r.history.byResource() {
		begun := time.Now()
		verdict := linearizable(operations, judgeBound)
		r.longest = max(r.longest, time.Since(begun))
		switch verdict {
		case porcupine.Ok:
			r.temper(t, key, operations)
		case porcupine.Unknown:
			t.Errorf("%s: not judged within %v", key, judgeBound)
			r.tell(t, key, operations)
		case porcupine.Illegal:
			t.Errorf("%s: what was seen of it is not linearizable", key)
			r.tell(t, key, operations)
		}
	}
}

// temper puts a read by hand into a history that is linearizable, one that shows
// what was acknowledged once and then seen to be replaced, or to go with its
// group. The judgement of that must be another one, or the first was worth
// nothing.
func (r *run) temper(t *testing.T, key string, operations []operation) {
	if stale, ok := staleRead(operations); ok {
		r.tempered++
		r.mustFind(t, key, operations, stale)
	}
	if stale, ok := staleAfterGroup(operations); ok {
		r.temperedGroup++
		r.mustFind(t, key, until(operations, stale.Return), stale)
	}
}

func (r *run) mustFind(t *testing.T, key string, operations []operation, stale operation) {
	begun := time.Now()
	if got := linearizable(append(slices.Clone(operations), stale), judgeBound); got != porcupine.Illegal {
		t.Errorf("%s: with the stale read %v, put in by hand, the history is judged %s", key, stale, got)
	}
	r.longest = max(r.longest, time.Since(begun))
}

// staleRead makes a read, after all operations, of what a PUT had written when
// it was answered, but which the last read no longer showed.
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

// staleAfterGroup makes a read of what a PUT had written when it was answered,
// just after the last delete of the resource's group that was called later and
// seen to succeed.
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

// readAgain makes a read of what a PUT has written, just after a moment.
func (o operation) readAgain(after time.Duration) operation {
	return operation{
		Resource: o.Resource, Verb: get, Verdict: seen, Seen: content{o.Region, o.Value}, Call: after + 1, Return: after + 2, Answer: "by hand",
	}
}

// tell writes down the history of a resource, with a mark where it cannot be
// explained any more.
func (r *run) tell(t *testing.T, key string, operations []operation) {
	at := stuck(operations, judgeBound)
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
	_, info := porcupine.CheckOperationsVerbose(resourceModel(), checkable(until(operations, at)), judgeBound)
	if err := porcupine.VisualizePath(resourceModel(), info, filepath.Join(outFolder(t), name+".html")); err != nil {
		t.Error(err)
	}
}

func outFolder(t *testing.T) string {
	if *out == "" {
		return t.ArtifactDir()
	}
	if err := os.MkdirAll(*out, 0o750); err != nil {
		t.Fatal(err)
	}
	return *out
}

// keep writes a file for whoever wants to understand a failure.
func (r *run) keep(t *testing.T, name, text string) {
	file := filepath.Join(outFolder(t), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Error(err)
		return
	}
	t.Logf("see %s", file)
}
