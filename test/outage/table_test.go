package outage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"portico/test/evidence"
)

// part is one of an outage.
type part struct {
	name       string
	begin, end func(marks) time.Duration
}

// parts are those of the table, in their order.
func (c *callers) parts() []part {
	return []part{
		{"before", func(m marks) time.Duration { return m.began }, func(m marks) time.Duration { return m.stopping }},
		{fmt.Sprintf("away for less than %s s", evidence.Short(c.ttl.Seconds())), func(m marks) time.Duration { return m.stopped }, func(m marks) time.Duration { return m.expired }},
		{"away for longer", func(m marks) time.Duration { return m.expired }, func(m marks) time.Duration { return m.starting }},
		{"back", func(m marks) time.Duration { return m.ready }, func(m marks) time.Duration { return m.ended }},
	}
}

// report renders all that was measured.
func (c *callers) report(seen evidence.Circumstances, rounds []marks) string {
	var away []float64
	for _, m := range rounds {
		away = append(away, (m.started - m.stopping).Seconds())
	}
	return strings.Join([]string{
		seen.Describe(fmt.Sprintf("%d outages", len(rounds))),
		fmt.Sprintf("The store was away for %s s each time; gateways answered from memory for up to %s s (`index.cacheTTL`). "+
			"Spreads have the least, the **median** and the greatest of the rounds and gateways.", evidence.SpreadOf(away), evidence.Short(c.ttl.Seconds())),
		strings.TrimSpace(c.table(rounds)),
		"Where Portico loses:\n\n" + c.losses(rounds),
	}, "\n\n")
}

// summary renders what operators decide by: which calls are served without the store.
func (c *callers) summary(seen evidence.Circumstances, rounds []marks) string {
	head := []string{"calls"}
	for _, p := range c.parts() {
		head = append(head, p.name)
	}
	var rows [][]string
	for _, group := range []struct {
		name  string
		kinds []kind
	}{
		{string(readResource), []kind{readResource}},
		{"other reads and lists", slices.DeleteFunc(slices.Clone(reads), func(k kind) bool { return k == readResource })},
		{"polls", polls}, {"writes", writes},
		{"GET without a role, or after it was taken away", []kind{unassigned, revoked}},
		{string(revokedLast), []kind{revokedLast}},
	} {
		row := []string{group.name}
		for _, p := range c.parts() {
			row = append(row, c.share(group.kinds, p, rounds))
		}
		rows = append(rows, row)
	}
	var again []float64
	for _, k := range slices.Concat(reads, polls, writes) {
		again = append(again, c.servedAgain(k, rounds)...)
	}
	return strings.Join([]string{
		seen.Brief(fmt.Sprintf("%d outages", len(rounds))), strings.TrimSpace(evidence.Table(head, rows)),
		fmt.Sprintf("Once the store answered again, each kind of call was served within %s s.", evidence.Short(slices.Max(again))),
	}, "\n\n")
}

// losses says what was refused while memory could have answered, and for how long what was
// served could have been.
func (c *callers) losses(rounds []marks) string {
	var text strings.Builder
	for _, k := range reads {
		var all []float64
		for _, m := range rounds {
			least, most := c.lastServed(k, m)
			all = append(all, least.Seconds(), most.Seconds())
		}
		if longest := slices.Max(all); longest == 0 {
			fmt.Fprintf(&text, "- %s: refused as soon as the store is away.\n", k)
		} else if c.ttl.Seconds()-evidence.SpreadOf(all).Median > 1 {
			fmt.Fprintf(&text, "- %s: served for %s s without the store, of the %s s that memory may answer.\n", k, evidence.SpreadOf(all), evidence.Short(c.ttl.Seconds()))
		}
	}
	return text.String() + "- All that changes something, and all polls: refused as soon as the store is away.\n- " + c.unpollable()
}

// unpollable says how many operations could not be polled to their end.
func (c *callers) unpollable() string {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	accepted := 0
	for _, one := range c.calls {
		if one.kind == putAccepted && one.served() {
			accepted++
		}
	}
	return fmt.Sprintf("Of %d operations, %d were accepted while the store went away and could not be polled afterwards: their callers, who have a role only at a group, got 403.\n",
		accepted, len(c.unpolled))
}

// table shows for each kind of call which share was served in each part, how long calls were
// served without the store, and how the others were refused.
func (c *callers) table(rounds []marks) string {
	head := []string{"call"}
	for _, p := range c.parts() {
		head = append(head, p.name)
	}
	head = append(head, "served for, s", "first served again after, s", "refused by", "a refusal takes, ms")
	var rows [][]string
	for _, k := range slices.Concat(reads, polls, writes, denied) {
		row := []string{string(k)}
		for _, p := range c.parts() {
			row = append(row, c.share([]kind{k}, p, rounds))
		}
		rows = append(rows, append(row, c.servedFor(k, rounds), evidence.SpreadOf(c.servedAgain(k, rounds)).String(), c.refusals(k, rounds), c.refusalTime(k, rounds)))
	}
	return evidence.Table(head, rows)
}

// share returns which share of the calls of some kinds was served, over all rounds and
// gateways, and their number.
func (c *callers) share(of []kind, p part, rounds []marks) string {
	all, served := 0, 0
	for _, m := range rounds {
		for _, one := range c.since(p.begin(m)) {
			if slices.Contains(of, one.kind) && one.ended <= p.end(m) {
				all++
				if one.served() {
					served++
				}
			}
		}
	}
	switch {
	case all == 0:
		return "–"
	case served == 0:
		return fmt.Sprintf("none of %d", all)
	case served == all:
		return fmt.Sprintf("all of %d", all)
	}
	return fmt.Sprintf("%s %% of %d", evidence.Short(100*float64(served)/float64(all)), all)
}

func (c *callers) servedFor(k kind, rounds []marks) string {
	var all []float64
	for _, m := range rounds {
		least, most := c.lastServed(k, m)
		all = append(all, least.Seconds(), most.Seconds())
	}
	if slices.Max(all) == 0 {
		return "–"
	}
	return evidence.SpreadOf(all).String()
}

// servedAgain returns the seconds between the store's first answer and the first such call
// that a gateway served, for each round and gateway.
func (c *callers) servedAgain(k kind, rounds []marks) (all []float64) {
	for _, m := range rounds {
		first := [gatewayCount]time.Duration{}
		for _, one := range c.since(m.starting) {
			if at := &first[one.gateway]; one.kind == k && one.served() && (*at == 0 || one.ended < *at) {
				*at = one.ended
			}
		}
		for _, at := range first {
			if at > 0 && at < m.ended {
				all = append(all, max(at-m.started, 0).Seconds())
			}
		}
	}
	return all
}

// refusals are the answers without success while the store was away, with their number.
func (c *callers) refusals(k kind, rounds []marks) string {
	counts := map[string]int{}
	for _, one := range c.without(k, rounds) {
		text := strings.TrimSpace(fmt.Sprint(one.status, " ", one.code))
		if one.pause {
			text += ", Retry-After"
		}
		counts[text]++
	}
	var texts []string
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s (%d)", text, counts[text]))
	}
	return strings.Join(texts, "; ")
}

func (c *callers) refusalTime(k kind, rounds []marks) string {
	var all []float64
	for _, one := range c.without(k, rounds) {
		all = append(all, float64(one.ended-one.began)/float64(time.Millisecond))
	}
	return evidence.SpreadOf(all).String()
}

// without are the calls of a kind that were not served while the store was away.
func (c *callers) without(k kind, rounds []marks) (found []call) {
	for _, m := range rounds {
		for _, one := range c.since(m.stopped) {
			if one.kind == k && one.ended <= m.starting && !one.served() {
				found = append(found, one)
			}
		}
	}
	return found
}
