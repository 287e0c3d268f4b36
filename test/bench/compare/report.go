package compare

import (
	"fmt"
	"slices"
	"strings"

	"portico/test/evidence"
)

// report renders all that was compared.
func report(c evidence.Circumstances, s samples, workers []int, rounds int) string {
	most := slices.Max(workers)
	sections := []string{
		c.Describe(plural(rounds, "round")),
		fmt.Sprintf("Each cell has the least, the **median** and the greatest of the rounds. Unless a table says otherwise, each proxy had %s.", plural(most, "worker")),
		"### The aims\n\n" + aimList(aims(s, most)),
		"### Where Portico loses\n\n" + losses(s, most),
		"### Processor time of a request, as a multiple of the peer's\n\n" + ratios(s, most, cpuTime) + "\n" + overPostgres(s, most),
		"### Requests per second, as a share of the peer's\n\n" + ratios(s, most, rate),
		"### A list of 8 regions\n\n" + lists(s, most),
		"### The figures behind the ratios\n\nMedians: processor time of a request in µs, and requests per second.\n\n" + absolutes(s, most),
		"### Signing in\n\n" + signIn(s, most),
		"### More workers\n\n" + scaling(s, workers),
		"### Time added at 2,000 requests per second\n\n" + steadyTimes(s, most),
		"### 512 connections\n\n" + many(s, most),
		"### Memory\n\n" + memory(s, most),
	}
	for i, section := range sections {
		sections[i] = strings.TrimSpace(section)
	}
	return strings.Join(sections, "\n\n")
}

// summary renders what operators decide by: the aims, and the medians of each proxy.
func summary(c evidence.Circumstances, s samples, workers []int, rounds int) string {
	most := slices.Max(workers)
	head := []string{"", "GET, µs", "PUT, existing, µs", "PUT, new, µs", "GET, TLS with HTTP/2, µs", "time added, p50, ms", "p99 over 512 connections, ms", "memory at the start, MiB", "at most, MiB"}
	var rows [][]string
	for _, who := range allOfThem {
		of := func(load string, what quantity) string { return s.of(key{load, who, most, what}).Middle() }
		added := s.above(key{steadyRate, who, most, p50}, key{steadyRate, direct, most, p50})
		rows = append(rows, []string{who, of(getInstance, cpuTime), of(putExisting, cpuTime), of(putNew, cpuTime), of(getSecure, cpuTime),
			added.Middle(), of(manyConnections, p99), of("", idle), of(manyConnections, busy)})
	}
	return strings.Join([]string{
		c.Brief(plural(rounds, "round")), strings.TrimSpace(aimList(aims(s, most))),
		"Medians; µs are processor time of a request.", evidence.Table(head, rows),
	}, "\n\n")
}

func aimList(all []aim) string {
	var text strings.Builder
	for _, a := range all {
		text.WriteString("- " + a.sentence() + "\n")
	}
	return text.String()
}

var (
	proxied   = []string{reverseProxy, nginx, haproxy, caddy}
	allLoads  = []string{getInstance, putExisting, putNew, ownNotFound, getLarge, getSecure}
	allOfThem = []string{portico, porticoPostgres, reverseProxy, nginx, haproxy, caddy}
)

// ratios compares Portico's figures with those of each peer.
func ratios(s samples, workers int, what quantity) string {
	var rows [][]string
	for _, load := range allLoads {
		for _, own := range []string{portico, porticoPostgres} {
			k := key{load, own, workers, what}
			if s.of(k).None {
				continue
			}
			row := []string{ownLoad(load, own)}
			for _, peer := range proxied {
				row = append(row, s.ratio(k, key{load, peer, workers, what}).String())
			}
			rows = append(rows, row)
		}
	}
	return evidence.Table(append([]string{""}, proxied...), rows)
}

func ownLoad(load, own string) string {
	if own == porticoPostgres {
		return load + "; PostgreSQL"
	}
	return load
}

// overPostgres shows what the database server uses, which the ratios exclude.
func overPostgres(s samples, workers int) string {
	var parts []string
	for _, load := range []string{getInstance, putExisting, putNew, ownNotFound, mergedList} {
		if used := s.of(key{load, porticoPostgres, workers, storeCPU}); !used.None {
			parts = append(parts, fmt.Sprintf("%s: %s", load, used.Middle()))
		}
	}
	return "These figures exclude PostgreSQL's own processor time of a request, in µs: " + strings.Join(parts, "; ") + ".\n"
}

func lists(s samples, workers int) string {
	var rows [][]string
	for _, own := range []string{portico, porticoPostgres} {
		cpu, lists := key{mergedList, own, workers, cpuTime}, key{mergedList, own, workers, rate}
		rows = append(rows, []string{own, s.of(cpu).Middle(),
			s.ratio(cpu, key{mergedList, merger, workers, cpuTime}).String(), s.ratio(lists, key{mergedList, merger, workers, rate}).String()})
	}
	return evidence.Table([]string{"", "CPU of a list, µs", "multiple of the " + merger + "'s", "lists per second, share of the " + merger + "'s"}, rows)
}

// signIn compares the ways to sign in.
func signIn(s samples, workers int) string {
	var rows [][]string
	for _, own := range []string{porticoIssuer, porticoKnown} {
		cpu := key{signedIn, own, workers, cpuTime}
		rows = append(rows, []string{signedIn, own, s.of(cpu).String(), s.ratio(cpu, key{signedIn, porticoKnown, workers, cpuTime}).String()})
	}
	return evidence.Table([]string{"", "", "CPU of a request, µs", "multiple of that without roles"}, rows)
}

func absolutes(s samples, workers int) string {
	var rows [][]string
	columns := append(slices.Clone(allOfThem), direct)
	for _, load := range allLoads {
		row := []string{load}
		for _, who := range columns {
			cpu, rates := s.of(key{load, who, workers, cpuTime}), s.of(key{load, who, workers, rate})
			switch {
			case cpu.None:
				row = append(row, "–")
			case who == direct:
				row = append(row, rates.Middle()+"/s")
			default:
				row = append(row, cpu.Middle()+" µs, "+rates.Middle()+"/s")
			}
		}
		rows = append(rows, row)
	}
	return evidence.Table(append([]string{""}, columns...), rows)
}

// scaling shows what more workers gain and what they cost.
func scaling(s samples, workers []int) string {
	if len(workers) < 2 {
		return "The machine has one processor.\n"
	}
	least := slices.Min(workers)
	head := []string{"", ""}
	for _, n := range workers {
		head = append(head, plural(n, "worker")+": CPU, µs")
		if n > least {
			head = append(head, fmt.Sprintf("requests per second, multiple of %d's", least))
		}
	}
	var rows [][]string
	for _, load := range []string{getInstance, putExisting} {
		for _, who := range allOfThem {
			row := []string{load, who}
			for _, n := range workers {
				row = append(row, s.of(key{load, who, n, cpuTime}).String())
				if n > least {
					row = append(row, s.ratio(key{load, who, n, rate}, key{load, who, least, rate}).String())
				}
			}
			rows = append(rows, row)
		}
	}
	return evidence.Table(head, rows)
}

func steadyTimes(s samples, workers int) string {
	own := func(what quantity) key { return key{steadyRate, direct, workers, what} }
	rows := [][]string{{direct, s.of(own(p50)).String(), s.of(own(p99)).String(), "–"}}
	for _, who := range allOfThem {
		k := func(what quantity) key { return key{steadyRate, who, workers, what} }
		rows = append(rows, []string{who, s.above(k(p50), own(p50)).String(), s.above(k(p99), own(p99)).String(), s.of(k(cpuTime)).String()})
	}
	return evidence.Table([]string{"", "p50, ms", "p99, ms", "CPU of a request, µs"}, rows) +
		"\nThe first line has the times without a proxy, the load's own share included; the others have what a proxy adds to them.\n"
}

func many(s samples, workers int) string {
	var rows [][]string
	for _, who := range append(slices.Clone(allOfThem), direct) {
		k := key{manyConnections, who, workers, p99}
		rows = append(rows, []string{who, s.of(k).String(), s.ratio(k, key{manyConnections, haproxy, workers, p99}).String()})
	}
	return evidence.Table([]string{"", "p99, ms", "multiple of HAProxy's"}, rows)
}

func memory(s samples, workers int) string {
	var rows [][]string
	for _, who := range allOfThem {
		rows = append(rows, []string{who, s.of(key{"", who, workers, idle}).Middle(), s.of(key{manyConnections, who, workers, busy}).String()})
	}
	return evidence.Table([]string{"", "at the start, MiB", "at most over 512 connections, MiB"}, rows)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
