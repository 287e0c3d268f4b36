package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// nodesOf makes n nodes with what each needs.
func nodesOf(n int, needs func(i int) []int) []*node {
	nodes := make([]*node, n)
	for i := range nodes {
		nodes[i] = &node{needs: needs(i)}
	}
	return nodes
}

// anyOf draws up to three needs for each node, among those before it.
func anyOf(random *rand.Rand) func(int) []int {
	return func(i int) (needs []int) {
		for range random.IntN(min(i, 3) + 1) {
			needs = append(needs, random.IntN(i))
		}
		return needs
	}
}

func withFault(fault string, nodes []*node) []*node {
	for _, n := range nodes {
		n.fault = fault
	}
	return nodes
}

// passing are the faults that keep nothing from going in the end.
var passing = []string{"", "location", "status", "both", "nourl", "slow", "blind", "throttle", "error", "reset", "applied", "back"}

func withFaults(random *rand.Rand, nodes []*node) []*node {
	for _, n := range nodes {
		n.fault = passing[random.IntN(len(passing))]
	}
	return nodes
}

// circle has some nodes need each other.
func circle(of []int, nodes []*node) []*node {
	for k, i := range of {
		nodes[i].needs = append(nodes[i].needs, of[(k+1)%len(of)])
	}
	return nodes
}

// fillGraph makes the group and all of the graph's nodes in it.
func (g *graph) fillGraph(t *testing.T, w *harness.World, group string, nodes []*node) {
	t.Helper()
	g.set(nodes)
	resources := map[string]string{}
	for _, n := range nodes {
		resources[n.typeAndName] = n.region
	}
	fill(t, w, group, resources)
}

// wantEnd wants a deletion to end as the graph lets it: with nothing left, or
// with exactly the nodes that no one could delete, each with its provider's last
// word, and then with nothing when nothing keeps them any more.
func (g *graph) wantEnd(t *testing.T, d deletion, p *harness.Portico) {
	t.Helper()
	stuck := g.stuck()
	a := d.end(t, p)
	g.check(t, d.w, stuck)
	if len(stuck) == 0 {
		if a.Status != http.StatusOK || len(a.Body) != 0 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		p.Do(t, harness.Request{Path: d.w.GroupPath(d.group) + "?api-version=2021-04-01"}).WantError(t, 404, "ResourceGroupNotFound")
		return
	}
	g.wantFault(t, d, a.WantError(t, 409, "ResourceGroupDeletionBlocked"), stuck)
	g.relieve()
	again := beginDelete(t, d.w, p, d.group)
	if a := again.end(t, p); a.Status != http.StatusOK {
		t.Errorf("again: %d %s", a.Status, a.Body)
	}
	g.check(t, d.w, nil)
}

// wantFault wants exactly these nodes to be named, and why.
func (g *graph) wantFault(t *testing.T, d deletion, a harness.Answer, stuck []int) {
	t.Helper()
	var reported struct {
		Error struct {
			Details []struct{ Code, Target, Message string }
		}
	}
	harness.OK(t, json.Unmarshal(a.Body, &reported))
	g.mu.Lock()
	defer g.mu.Unlock()
	words := map[string]string{}
	for _, detail := range reported.Error.Details {
		words[detail.Target] = fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, detail.Code, detail.Message)
	}
	for _, i := range stuck {
		n := g.nodes[i]
		id := d.w.ResourcePath(d.group, n.typeAndName)
		if words[id] != n.refusal || n.refusal == "" {
			t.Errorf("of %s it says %q, and its provider said %q", id, words[id], n.refusal)
		}
		delete(words, id)
	}
	if len(words) > 0 {
		t.Errorf("it names %v beside", words)
	}
}

// Whatever form the dependencies have, and whatever the providers in four
// regions do, a group ends right. Nothing is deleted again that went.
func TestGroupDeleteOfGraphs(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: g.config()})
	random := rand.New(rand.NewPCG(8, 7))
	chain := func(i int) []int {
		if i == 0 {
			return nil
		}
		return []int{i - 1}
	}
	tree := func(i int) (needs []int) {
		for child := 2*i + 1; child < min(2*i+3, 50); child++ {
			needs = append(needs, child)
		}
		return needs
	}
	dag := anyOf(random)
	never := nodesOf(50, dag)
	never[10].fault = "never"
	for name, nodes := range map[string][]*node{
		"one":                   nodesOf(1, dag),
		"chain":                 nodesOf(50, chain),
		"chain, naming nothing": withFault("blind", nodesOf(30, chain)),
		"tree":                  nodesOf(50, tree),
		"any":                   nodesOf(50, dag),
		"any, naming nothing":   withFault("blind", nodesOf(50, dag)),
		"any, among faults":     withFaults(random, nodesOf(50, dag)),
		"a circle":              circle([]int{3, 7, 20, 31}, withFaults(random, nodesOf(50, dag))),
		"one that never goes":   never,
	} {
		t.Run(name, func(t *testing.T) {
			group := "rg-" + strings.NewReplacer(" ", "-", ",", "").Replace(name)
			g.fillGraph(t, w, group, nodes)
			g.wantEnd(t, beginDelete(t, w, w.Portico, group), w.Portico)
			w.PutGroup(t, group) // at once
		})
	}
}

// killSeed is where the random numbers of the next test begin; how many runs it
// makes is PORTICO_DEATHS, 4 by default.
func killSeed(t *testing.T) (first uint64, runs int) {
	t.Helper()
	first, runs = uint64(time.Now().UnixNano()), 4
	if text := os.Getenv("PORTICO_DEATH_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		harness.OK(t, err)
		first = seed
	}
	if n, err := strconv.Atoi(os.Getenv("PORTICO_DEATHS")); err == nil {
		runs = n
	}
	return first, runs
}

// Of two gateways any may be killed at any moment, as often as it likes: when a
// provider has just got a call, or has carried it out and not answered. Any
// graph, with any faults, ends as if no one had died: nothing is forgotten, the
// group is not gone before all that it held is, and nothing goes again whose end
// was settled.
func TestGroupDeleteAmongKills(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	config := g.config()
	config.Postgres = harness.StartPostgres(t).CreateDatabase(t, "deaths")
	w := harness.NewWorld(t, harness.WorldOptions{Replicas: 2, Config: config})
	first, runs := killSeed(t)
	whole := t // a process lives as long as the test that it is started by
	for run := range runs {
		seed := first + uint64(run)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			nodes := withFaults(random, nodesOf(2+random.IntN(24), anyOf(random)))
			if n := len(nodes); n > 5 && random.IntN(3) == 0 {
				circle(random.Perm(n)[:3], nodes)
			}
			if random.IntN(3) == 0 {
				nodes[random.IntN(len(nodes))].fault = "never"
			}
			group := fmt.Sprint("rg-", run)
			g.fillGraph(t, w, group, nodes)
			d := beginDelete(t, w, w.Replicas[random.IntN(2)], group)
			for range 1 + random.IntN(4) {
				g.fuse.Store(int64(1 + random.IntN(2*len(nodes))))
				ended, living := d.untilKill(t, g, w, random)
				if ended {
					break
				}
				victim := w.Replicas[1-slices.Index(w.Replicas, living)]
				victim.Restart(whole)
			}
			g.fuse.Store(0)
			g.wantEnd(t, d, w.Replicas[random.IntN(2)])
			t.Logf("%d resources; %d gateways have died", len(nodes), g.age.Load()-1)
		})
	}
	if runs > 0 && g.age.Load() == 1 {
		t.Error("none has died")
	}
}

// untilKill waits for the moment in which a gateway has to die, and kills one;
// living is the other. It may end before.
func (d deletion) untilKill(t *testing.T, g *graph, w *harness.World, random *rand.Rand) (ended bool, living *harness.Portico) {
	t.Helper()
	bound := time.After(settled)
	for {
		select {
		case done := <-g.deaths:
			victim := random.IntN(2)
			g.noteSlow(t, w.Replicas[victim])
			w.Replicas[victim].Kill(t)
			g.age.Add(1)
			close(done)
			return false, w.Replicas[1-victim]
		case <-bound:
			t.Fatalf("the deletion does not end: %+v", d.progress(t, w.Portico))
		case <-time.After(20 * time.Millisecond):
			if a := w.Portico.Do(t, harness.Request{Path: d.result}); a.Status != http.StatusAccepted {
				return true, nil
			}
		}
	}
}
