// Package status finds out what is wrong with a gateway, its store and its providers, by
// what they show just now: the store and the health of addresses themselves, and of the
// process the figures by which alerts go too.
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

// Sources are what is looked at.
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
	// StoreDownSince is since when the store is known not to answer; the zero time where that
	// is not known.
	StoreDownSince time.Time
}

// Bounds of a look.
const (
	lookTime    = 10 * time.Second // at the store
	mostOfAKind = 20               // problems that are listed one by one
)

// Find returns all that is wrong, the worst first.
func (s Sources) Find(ctx context.Context) []api.Problem {
	f := newFinding()
	f.regions(s.Regions)
	f.process(s.figures(), time.Now())
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s.lookAtStore(ctx, f)
	return f.sorted()
}

// kind is a kind of problem, with its rank.
type kind struct {
	api.ProblemKind
	rank int
}

// finding is what was found so far.
type finding struct {
	kinds    map[string]kind
	problems []api.Problem
}

func newFinding() *finding {
	f := &finding{kinds: map[string]kind{}}
	for i, k := range api.ProblemKinds() {
		f.kinds[k.Code] = kind{k, i}
	}
	return f
}

// add adds a problem. Its severity, and what to do next, are those of its code.
func (f *finding) add(p api.Problem) { f.addAbout(p, p.Subject) }

// addAbout is add where the next command is not about the problem's subject.
func (f *finding) addAbout(p api.Problem, next string) {
	k := f.kinds[p.Code]
	p.Severity, p.Next = k.Severity, strings.ReplaceAll(k.Next, api.NextOf, next)
	f.problems = append(f.problems, p)
}

// sorted returns the problems, the worst first; of one kind the oldest first, and only so
// many of them.
func (f *finding) sorted() []api.Problem {
	slices.SortStableFunc(f.problems, func(a, b api.Problem) int {
		return cmp.Or(cmp.Compare(f.kinds[a.Code].rank, f.kinds[b.Code].rank), compareTimes(a.Since, b.Since), cmp.Compare(a.Subject, b.Subject))
	})
	listed, of := []api.Problem{}, map[string]int{}
	for _, p := range f.problems {
		if of[p.Code]++; of[p.Code] <= mostOfAKind {
			listed = append(listed, p)
		}
	}
	for i, l := range slices.Backward(listed) {
		if left := of[l.Code] - mostOfAKind; left > 0 {
			more := api.Problem{Severity: l.Severity, Code: l.Code, Count: left, Summary: fmt.Sprintf("There are %d more of this kind.", left)}
			of[l.Code] = 0
			listed = slices.Insert(listed, i+1, more)
		}
	}
	return listed
}

// compareTimes puts what has no time last.
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

// since is a time, unless that is not known.
func since(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// count is a number of things in words.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
