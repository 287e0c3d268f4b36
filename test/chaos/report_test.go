package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxSurprises bounds the answers that are told of one by one.
const maxSurprises = 20

// counts is what a run's report is made of. It may be used from any goroutine.
type counts struct {
	mu        sync.Mutex
	outcomes  map[string]int // of operations, by verb and verdict
	answers   map[string]int // of operations without a definite outcome, by verb and answer
	faults    map[string]int
	surprises []string
	surprised int
}

func newCounts() counts {
	return counts{outcomes: map[string]int{}, answers: map[string]int{}, faults: map[string]int{}}
}

func (c *counts) operation(o operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[fmt.Sprintf("%-6s %s", o.Verb, o.Verdict)]++
	if o.Verdict == nothing || o.Verdict == open || o.Verdict == overtaken {
		c.answers[fmt.Sprintf("%-6s %-9s %s", o.Verb, o.Verdict, o.Answer)]++
	}
}

// note counts what is no part of the history.
func (c *counts) note(what, method, answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[fmt.Sprintf("%-6s %s: %s", method, what, answer)]++
}

func (c *counts) fault(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[name]++
}

// surprise notes an answer that no client should get.
func (c *counts) surprise(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.surprised++; len(c.surprises) < maxSurprises {
		c.surprises = append(c.surprises, what)
	}
}

// report writes down how a run went.
func (r *run) report(seed uint64, worked, quiet, judged time.Duration) string {
	c := &r.count
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", seed)
	fmt.Fprintf(&b, "%d writes in %v, quiet after %v more, judged in %v, no history in more than %v\n",
		r.writes.Load(), worked.Round(time.Second), quiet.Round(100*time.Millisecond), judged.Round(100*time.Millisecond), r.longestCheck.Round(time.Millisecond))
	fmt.Fprintf(&b, "%d resources; a stale read put in by hand was found in each of %d, just after the delete of their group in each of %d\n",
		len(r.resources), r.staleReads, r.staleGroupReads)
	fmt.Fprintf(&b, "the group that comes and goes was, or may have been, under deletion for %v\n", r.threatened().Round(100*time.Millisecond))
	for _, table := range []struct {
		title string
		rows  map[string]int
	}{{"faults", c.faults}, {"operations by outcome", c.outcomes}, {"answers that leave things open, or say that nothing was done", c.answers}} {
		fmt.Fprintf(&b, "\n%s\n", table.title)
		for _, key := range slices.Sorted(maps.Keys(table.rows)) {
			fmt.Fprintf(&b, "%8d  %s\n", table.rows[key], key)
		}
	}
	return b.String()
}

// threatened is for how long the group that comes and goes may have been under
// deletion.
func (r *run) threatened() (total time.Duration) {
	under, since := 0, time.Duration(0)
	for _, o := range r.history.byResource()[of(groups[fleeting], r.resources)[0].key()] {
		switch o.Verdict {
		case threatened:
			if under++; under == 1 {
				since = o.Call
			}
		case safe:
			if under--; under == 0 {
				total += o.Call - since
			}
		}
	}
	return total
}
