package blows

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/gateway"
	"portico/internal/failpoint"
	"portico/test/evidence"
	"portico/test/harness"
)

var (
	long  = flag.Bool("blows.long", false, "strike each kind at each point that it comes to, in each way")
	only  = flag.String("blows.only", "", "with one kind alone, by its name")
	write = flag.Bool("blows.write", false, "write how all blows ended into README.md and docs/evidence.md")
	at    = flag.String("blows.at", "", "strike only where this is in a blow's words, such as \"pause at store.commit.after\"")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// The ways to strike.
const (
	kill   = "kill"
	fail   = "fail"
	repeat = "repeat"
	pause  = "pause"
)

// blow is one of the table: a kind, a point and a way, and after how many times there.
type blow struct {
	kind  string
	point failpoint.Point
	way   string
	after int
	// What came of it.
	fell   int
	differ string
	took   time.Duration
}

func (b *blow) String() string {
	return fmt.Sprintf("%s: %s at %s (%d)", b.kind, b.way, b.point, b.after+1)
}

// course is one kind in its sites, with the end that it has undisturbed.
type course struct {
	kind
	alone, pair *site
	end         []string
	reached     map[failpoint.Point]int // how often, undisturbed
}

// Each point has a kind that is struck there, and each kind of job is one's work.
func TestEveryPointAndEveryJobHasAKind(t *testing.T) {
	t.Parallel()
	var points []failpoint.Point
	var jobs []string
	for _, k := range kinds() {
		points, jobs = append(points, k.points...), append(jobs, k.jobs...)
	}
	for _, d := range failpoint.All() {
		if n := len(points); len(slices.DeleteFunc(points, func(p failpoint.Point) bool { return p == d.Point })) == n {
			t.Errorf("no kind is struck at %s", d.Point)
		}
	}
	for job := range gateway.Kinds() {
		if !slices.Contains(jobs, job) {
			t.Errorf("no kind has the job %s", job)
		}
	}
}

// Whatever strikes at whichever point, each kind of work ends as it does undisturbed.
func TestEveryKindEndsAsUndisturbed(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	report := evidence.ReportOn("../../docs", "Blows", "make evidence")
	if *write {
		harness.OK(t, report.Check())
	}
	struck := &table{seen: evidence.Observe("make evidence", evidence.PostgresVersion())}
	t.Run("kinds", func(t *testing.T) {
		for _, k := range kinds() {
			if *only == "" || *only == k.name {
				t.Run(strings.ReplaceAll(k.name, " ", "-"), func(t *testing.T) {
					t.Parallel()
					c := e.undisturbed(t, k)
					for _, b := range c.blows() {
						if !strings.Contains(b.String(), *at) {
							continue
						}
						c.strike(t, b)
						struck.add(t, b)
					}
				})
			}
		}
	})
	t.Logf("%d blows in %v", len(struck.blows), time.Since(struck.seen.Started).Round(time.Second))
	if *write {
		harness.OK(t, report.Write(struck.report()))
	}
}

// table is what was struck.
type table struct {
	seen evidence.Circumstances

	mu    sync.Mutex
	blows []*blow
}

// report returns how many blows struck each kind, and how many ends differed; and the sums
// of all kinds.
func (s *table) report() (whole, summary string) {
	rows, sums, otherEnds := [][]string{}, map[string]int{}, 0
	for _, k := range kinds() {
		of, points, differ := map[string]int{}, map[failpoint.Point]bool{}, 0
		for _, b := range s.blows {
			if b.kind != k.name {
				continue
			}
			of[b.way]++
			sums[b.way]++
			points[b.point] = true
			if b.differ != "" || b.fell == 0 {
				differ++
			}
		}
		otherEnds += differ
		rows = append(rows, append(append([]string{k.name, fmt.Sprint(len(points))}, countsOf(of)...), fmt.Sprint(differ)))
	}
	extent, ways := fmt.Sprintf("%d blows", len(s.blows)), []string{"killed", "killed twice", "stands still", "step fails", "other end"}
	whole = s.seen.Describe(extent) + "\n\n" + evidence.Table(append([]string{"work", "points"}, ways...), rows)
	summary = s.seen.Brief(extent) + "\n\n" +
		evidence.Table(append([]string{"kinds of work"}, ways...), [][]string{append(append([]string{fmt.Sprint(len(rows))}, countsOf(sums)...), fmt.Sprint(otherEnds))})
	return whole, summary
}

// countsOf returns the number of blows of each way, in the order of the tables.
func countsOf(ways map[string]int) []string {
	return []string{fmt.Sprint(ways[kill]), fmt.Sprint(ways[repeat]), fmt.Sprint(ways[pause]), fmt.Sprint(ways[fail])}
}

// add adds a blow, which must have fallen and changed nothing.
func (s *table) add(t *testing.T, b *blow) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blows = append(s.blows, b)
	t.Logf("%v: %v", b, b.took.Round(10*time.Millisecond))
	if b.fell == 0 {
		t.Errorf("%v: it did not fall", b)
	}
	if b.differ != "" {
		t.Errorf("%v: the end differs:\n%s", b, b.differ)
	}
}

// undisturbed starts the sites of a kind, and does its work without a blow. Over two
// gateways that ends in the same way.
func (e *estate) undisturbed(t *testing.T, k kind) *course {
	t.Helper()
	c := &course{kind: k, alone: e.newSite(t, "", 1), reached: map[failpoint.Point]int{}}
	g := c.alone.gateways[0]
	p := c.prepared(t, c.alone)
	before := g.Points(t)
	harness.OK(t, c.do(p))
	var err error
	c.end, err = p.settle()
	harness.OK(t, err)
	for at, state := range g.Points(t) {
		c.reached[at] = state.Hits - before[at].Hits
	}
	held := 0
	for _, line := range c.end {
		if strings.Contains(line, " holds ") {
			held++
		}
	}
	if held != c.holds {
		t.Fatalf("the providers hold %d resources, want %d:\n%s", held, c.holds, strings.Join(c.end, "\n"))
	}
	c.didJobs(t)
	if *long {
		c.pair = e.newSite(t, strings.ReplaceAll(k.name, " ", "_"), 2)
		p = c.prepared(t, c.pair)
		harness.OK(t, c.do(p))
		if differ := p.becomes(c.end); differ != "" {
			t.Fatalf("over two gateways the end differs:\n%s", differ)
		}
	}
	return c
}

// didJobs wants that each of the kind's jobs was done: its row is there, or its attempt was
// counted.
func (c *course) didJobs(t *testing.T) {
	t.Helper()
	metrics := c.alone.gateways[0].Metrics(t)
	for _, job := range c.jobs {
		var n int
		harness.OK(t, c.alone.database.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT COUNT(*) FROM jobs WHERE kind = '%s'`, job)).Scan(&n))
		if n == 0 && !strings.Contains(metrics, fmt.Sprintf("portico_job_attempts_total{kind=%q", job)) {
			t.Errorf("there was no %s", job)
		}
	}
}

// prepared is a place where the work can begin.
func (c *course) prepared(t *testing.T, s *site) place {
	t.Helper()
	p := s.newPlace(t, c.chance)
	if c.prepare != nil {
		harness.OK(t, c.prepare(p))
	}
	_, err := p.settle()
	harness.OK(t, err)
	return p
}

// blows are those of the kind: a kill at each of its points or, in the long form, all ways at
// each point that it comes to.
func (c *course) blows() (all []*blow) {
	if !*long {
		for _, at := range c.points {
			all = append(all, &blow{kind: c.name, point: at, way: kill})
		}
		return all
	}
	for _, d := range failpoint.All() {
		hits := c.reached[d.Point]
		if hits == 0 {
			continue
		}
		for _, way := range []string{kill, repeat, pause, fail} {
			if way != fail || d.Fails {
				all = append(all, &blow{kind: c.name, point: d.Point, way: way})
			}
		}
		if hits > 3 { // not only when it is reached first
			all = append(all, &blow{kind: c.name, point: d.Point, way: kill, after: hits / 2})
		}
	}
	return all
}

func (b *blow) rule() string {
	rule := map[string]string{kill: "kill,once", repeat: "kill,once", fail: "fail,once", pause: "pause:1m,once"}[b.way]
	if b.after > 0 {
		rule += fmt.Sprint(",after=", b.after)
	}
	return rule
}

// work is a piece of work under way.
type work struct {
	place
	returned chan struct{} // closed when its clients and operators have what they wait for
	err      error
	restful  time.Time // since when nothing is under way
}

func (c *course) begin(p place) *work {
	w := &work{place: p, returned: make(chan struct{})}
	go func() {
		defer close(w.returned)
		w.err = c.do(p)
	}()
	return w
}

// idle is for how long nothing of a work is under way that has come to its end.
const idle = 2 * time.Second

// over reports whether the work has come to its end: nothing will strike any more.
func (w *work) over() bool {
	select {
	case <-w.returned:
	default:
		return false
	}
	if rests, err := w.rests(w.ctx); err != nil || !rests {
		w.restful = time.Time{}
		return false
	}
	if w.restful.IsZero() {
		w.restful = time.Now()
	}
	return time.Since(w.restful) > idle
}

// strike does the work with a blow, and compares its end.
func (c *course) strike(t *testing.T, b *blow) {
	t.Helper()
	s := c.alone
	if b.way == pause {
		s = c.pair
	}
	p := c.prepared(t, s)
	for _, g := range s.gateways {
		g.SetPoint(t, b.point, b.rule())
	}
	started := time.Now()
	w := c.begin(p)
	victim := w.struck(t, b)
	if victim != nil && b.way == repeat {
		victim.SetPoint(t, b.point, b.rule())
		w.struck(t, b)
	}
	<-w.returned
	if w.err != nil {
		t.Errorf("%v: %v", b, w.err)
	}
	b.differ = p.becomes(c.end)
	b.took = time.Since(started)
	if b.way == pause && victim != nil {
		victim.Resume(t)
		victim.ClearPoint(t, b.point)
		victim.Stop(t) // once what it has under way has ended
		if differ := p.becomes(c.end); b.differ == "" && differ != "" {
			b.differ = "once it went on:\n" + differ
		}
		victim.Restart(t)
	}
	if c.once && (b.way == kill || b.way == repeat) { // after another blow a client, or the deployment itself, may repeat one that had no answer
		p.wantNoPutTwice(t, b)
	}
}

// wantNoPutTwice wants of the place's PUTs that providers got none of them again.
func (p place) wantNoPutTwice(t *testing.T, b *blow) {
	t.Helper()
	got := map[string]bool{}
	for _, provider := range p.providers {
		for _, r := range provider.Requests(t) {
			if r.Method == http.MethodPut && strings.Contains(r.Path, p.group("rg")+"/") {
				if got[r.Path] {
					t.Errorf("%v: %s got a PUT of %s again", b, provider.Region, r.Path)
				}
				got[r.Path] = true
			}
		}
	}
}

// struck waits for the blow, and has the gateway that it has struck be started again or,
// where it is paused, stand still. It returns nil where the work comes to its end without;
// no blow is left then.
func (w *work) struck(t *testing.T, b *blow) (victim *harness.Portico) {
	t.Helper()
	harness.Await(t, bound, b.String(), func() bool {
		over := w.over()
		victim = w.hit(t, b)
		return over || victim != nil
	})
	if victim != nil {
		b.fell++
	}
	switch {
	case victim == nil:
	case b.way == pause:
		victim.Pause(t)
	case b.way != fail:
		victim.Restart(t)
	}
	for _, g := range w.gateways {
		if g != victim {
			g.ClearPoint(t, b.point)
		}
	}
	return victim
}

// hit returns the gateway that the blow has struck, if there is one.
func (w *work) hit(t *testing.T, b *blow) *harness.Portico {
	t.Helper()
	for _, g := range w.gateways {
		if b.way == kill || b.way == repeat {
			if g.EndsWithin(time.Millisecond) {
				return g
			}
			continue
		}
		points, err := g.TryPoints(t.Context())
		if err == nil && (points[b.point].Paused > 0 || b.way == fail && points[b.point].Rule == "") {
			return g
		}
	}
	return nil
}
