// Package status finds the current problems of a gateway, its store and its providers. It
// reads the store, the health of addresses, and those metrics of the process that alerts use
// as well.
package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/config"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/jobs"
	"portico/jobs/sweep"
	"portico/jobs/webhook"
)

// Sources are the sources of problems.
type Sources struct {
	Config  *config.Config
	Store   *inventory.Store
	Regions []api.Region
	Sweeps  interface {
		Latest(context.Context) (sweep.Latest, error)
		Uncovered(ctx context.Context, after string, limit int) ([]sweep.Uncovered, error)
	}
	Sinks *webhook.Deliverer
	Jobs  interface {
		Kinds() []string
		Describe(kind string) jobs.Description
	}
	Metrics prometheus.Gatherer
	// StoreDownSince is since when the store does not answer; zero if it answers or that is not
	// known.
	StoreDownSince time.Time
}

// Bounds of Find.
const (
	storeTime   = 10 * time.Second // for all queries of the store
	mostOfAKind = 20               // problems of one kind that are listed one by one
)

// Find returns all problems, the worst first.
func (s Sources) Find(ctx context.Context) []api.Problem {
	f := newFinding()
	f.regions(s.Regions)
	f.process(s.figures(), time.Now())
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	s.checkStore(ctx, f)
	return f.sorted()
}

// OfRegions returns those problems of all regions that concern one of the named, the worst first.
func OfRegions(all []api.Region, names []string) []api.Problem {
	f := newFinding()
	f.regions(all)
	for _, name := range names {
		if o := f.outages[name]; o != nil {
			names = append(names, o.Subject)
		}
	}
	return slices.DeleteFunc(f.sorted(), func(p api.Problem) bool { return !slices.Contains(names, p.Subject) })
}

// kind is a kind of problem, with its rank.
type kind struct {
	api.ProblemKind
	rank int
}

// finding collects problems.
type finding struct {
	kinds    map[string]kind
	problems []api.Problem
	found    []*outage
	outages  map[string]*outage // by address and endpoint, and by region if all of an endpoint is down
}

func newFinding() *finding {
	f := &finding{kinds: map[string]kind{}, outages: map[string]*outage{}}
	for i, k := range api.ProblemKinds() {
		f.kinds[k.Code] = kind{k, i}
	}
	return f
}

// add adds a problem, with the severity and the next command of its code.
func (f *finding) add(p api.Problem) { f.addAbout(p, p.Subject) }

// addAbout is like add, but the next command is about next instead of the problem's subject.
func (f *finding) addAbout(p api.Problem, next string) {
	k := f.kinds[p.Code]
	p.Severity, p.Next = k.Severity, strings.ReplaceAll(k.Next, api.NextOf, next)
	f.problems = append(f.problems, p)
}

// causeIn returns the subject of an outage in one of the regions, or "".
func (f *finding) causeIn(regions []string) string {
	for _, r := range regions {
		if o := f.outages[r]; o != nil {
			return o.Subject
		}
	}
	return ""
}

// sorted returns the problems, the worst first, and each behind its cause. Problems of one
// kind are sorted by age; after mostOfAKind of them, an entry counts the rest.
func (f *finding) sorted() []api.Problem {
	byRank := func(a, b api.Problem) int {
		return cmp.Or(cmp.Compare(f.kinds[a.Code].rank, f.kinds[b.Code].rank), compareTimes(a.Since, b.Since), cmp.Compare(a.Subject, b.Subject))
	}
	cause := func(p api.Problem) api.Problem {
		if o := f.outages[p.CausedBy]; o != nil {
			return o.Problem
		}
		return p
	}
	slices.SortStableFunc(f.problems, func(a, b api.Problem) int {
		return cmp.Or(byRank(cause(a), cause(b)), cmp.Compare(a.CausedBy, b.CausedBy), byRank(a, b))
	})
	listed, of := []api.Problem{}, map[string]int{}
	for _, p := range f.problems {
		if of[p.Code]++; of[p.Code] <= mostOfAKind {
			listed = append(listed, p)
		}
	}
	for i, l := range slices.Backward(listed) {
		if left := of[l.Code] - mostOfAKind; left > 0 {
			more := api.Problem{Severity: l.Severity, Code: l.Code, Count: left, Summary: fmt.Sprintf("And %d more of this kind.", left)}
			of[l.Code] = 0
			listed = slices.Insert(listed, i+1, more)
		}
	}
	return listed
}

// compareTimes sorts nil last.
func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// since returns t in UTC, or nil for the zero time.
func since(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
