package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// cost is what a request costs of the store until the client has its answer.
type cost struct {
	// roundTrips follow each other on PostgreSQL.
	roundTrips int
	// statements are run on SQLite, with transactions that write, and flushes of these
	// wait for the disk.
	statements, transactions, flushes int
}

// costOf is the cost of a call.
type costOf struct {
	name   string
	cost   cost
	before []call // not counted, in each round
	call   call
}

// call makes one request of a round; % in its path and body is the number of the
// round.
type call struct {
	method, path, body string
	header             http.Header
	poll               bool // of the operation that the call before began
	absent             bool // what it names
}

const (
	ownVersions    = "?api-version=2021-04-01"
	machineVersion = "?api-version=" + harness.Version
)

// The costs of requests, exactly: whoever changes one changes the table, and says why
// in the commit. What a driver does once on each connection is not counted, nor what
// a gateway reads again after some seconds, such as how many operations a caller has.
func requestCosts(w *harness.World) []costOf {
	group := w.GroupPath("rg") + ownVersions
	ownGroup := w.GroupPath("rg%") + ownVersions
	machine := w.ResourcePath("rg", machines+"vm%") + machineVersion
	action := w.ResourcePath("rg", machines+"vm%") + "/start" + machineVersion
	lock := w.GroupPath("locked") + "/providers/Microsoft.Authorization/locks/l%?api-version=2020-05-01"
	tagsOf := func(id string) string { return id + "/providers/Microsoft.Resources/tags/default" + ownVersions }
	put := call{method: http.MethodPut, path: machine, body: body("eastus")}
	other := call{method: http.MethodPut, path: w.ResourcePath("rg", machines+"other%") + machineVersion, body: body("eastus")}
	get := call{path: machine}
	accepted := call{method: http.MethodPut, path: machine, body: body("eastus"), header: harness.Header("X-Contoso-Async", "accepted-async", "X-Contoso-Duration", "1m")}
	putGroup := call{method: http.MethodPut, path: ownGroup, body: `{"location":"westus"}`}
	putLock := call{method: http.MethodPut, path: lock, body: `{"properties":{"level":"CanNotDelete"}}`}
	tags := `{"properties":{"tags":{"a":"%"}}}`
	one := `{"requests":[{"httpMethod":"GET","url":"` + machine + `"}]}`
	return []costOf{
		{"GET instance, cold", cost{1, 1, 0, 0}, []call{put}, get},
		{"GET instance, warm", cost{0, 0, 0, 0}, []call{put, get}, get},
		{"HEAD instance", cost{1, 1, 0, 0}, []call{put}, call{method: http.MethodHead, path: machine}},
		{"PUT instance, new", cost{4, 18, 2, 1}, nil, put},
		{"PUT instance, existing", cost{4, 16, 2, 1}, []call{put}, put},
		{"PUT instance, existing and read before", cost{4, 16, 2, 1}, []call{put, get}, put},
		{"PUT instance, accepted", cost{4, 21, 2, 2}, nil, accepted},
		{"PATCH instance", cost{4, 17, 2, 1}, []call{put}, call{method: http.MethodPatch, path: machine, body: `{"tags":{"a":"b"}}`}},
		{"DELETE instance", cost{4, 22, 2, 1}, []call{put}, call{method: http.MethodDelete, path: machine}},
		{"DELETE instance, absent", cost{2, 6, 0, 0}, []call{other}, call{method: http.MethodDelete, path: machine}},
		{"POST action", cost{2, 8, 1, 0}, []call{put}, call{method: http.MethodPost, path: action}},
		{"poll", cost{1, 1, 0, 0}, []call{accepted}, call{poll: true}},
		{"list in a group", cost{1, 1, 0, 0}, nil, call{path: w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines" + machineVersion}},
		{"list in a subscription", cost{1, 1, 0, 0}, nil, call{path: w.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines" + machineVersion}},
		{"PUT group, new", cost{3, 11, 1, 1}, nil, putGroup},
		{"PUT group, existing", cost{3, 8, 1, 1}, []call{putGroup}, putGroup},
		{"GET group", cost{1, 2, 0, 0}, nil, call{path: group}},
		{"GET group, absent", cost{1, 2, 0, 0}, nil, call{path: ownGroup, absent: true}},
		{"HEAD group", cost{1, 2, 0, 0}, nil, call{method: http.MethodHead, path: group}},
		{"HEAD group, absent", cost{1, 2, 0, 0}, nil, call{method: http.MethodHead, path: ownGroup, absent: true}},
		{"DELETE group, empty", cost{4, 24, 1, 1}, []call{putGroup}, call{method: http.MethodDelete, path: ownGroup}},
		{"list of groups", cost{2, 2, 0, 0}, nil, call{path: w.SubscriptionPath() + "/resourceGroups" + ownVersions}},
		{"list of resources", cost{2, 3, 0, 0}, nil, call{path: w.GroupPath("rg") + "/resources" + ownVersions}},
		{"GET subscription", cost{1, 1, 0, 0}, nil, call{path: w.SubscriptionPath() + "?api-version=2020-01-01"}},
		{"list of subscriptions", cost{1, 1, 0, 0}, nil, call{path: "/subscriptions?api-version=2020-01-01"}},
		{"GET registration", cost{2, 2, 0, 0}, nil, call{path: w.SubscriptionPath() + "/providers/Contoso.Compute" + ownVersions}},
		{"POST register", cost{4, 7, 1, 1}, nil, call{method: http.MethodPost, path: w.SubscriptionPath() + "/providers/Contoso.Compute/register" + ownVersions}},
		{"PUT lock", cost{4, 14, 2, 1}, nil, putLock},
		{"GET lock", cost{2, 3, 0, 0}, []call{putLock}, call{path: lock}},
		{"DELETE lock", cost{3, 11, 1, 1}, []call{putLock}, call{method: http.MethodDelete, path: lock}},
		{"PUT tags of a group", cost{4, 10, 1, 1}, nil, call{method: http.MethodPut, path: tagsOf(w.GroupPath("rg")), body: tags}},
		{"GET tags of a group", cost{1, 2, 0, 0}, nil, call{path: tagsOf(w.GroupPath("rg"))}},
		{"PUT tags of an instance", cost{10, 30, 4, 1}, []call{put}, call{method: http.MethodPut, path: tagsOf(w.ResourcePath("rg", machines+"vm%")), body: tags}},
		{"batch of one read", cost{0, 0, 0, 0}, []call{put, get}, call{method: http.MethodPost, path: "/batch?api-version=2020-06-01", body: one}},
	}
}

// costRounds is how often a call is made at most: until it costs just what it should, as
// the gateway also does work of its own.
const costRounds = 40

// confirming is how many rounds in a row have to confirm the table once one took less. That
// was seen once, on a busy machine, and is not explained.
const confirming = 10

// least makes the calls and returns the least of what the last one took, or what a second
// round took less than want.
func (c costOf) least(t *testing.T, p *harness.Portico, want []int, take func() []int) (least []int) {
	t.Helper()
	seenLess, needed := false, 1
	for round := 0; round < costRounds && (needed > 0 || !slices.Equal(least, want)); round++ {
		number := fmt.Sprintf("%d-%s", round, nameless.ReplaceAllString(strings.ToLower(c.name), "-"))
		var last harness.Answer
		for _, before := range c.before {
			last = before.do(t, p, number, last)
		}
		take()
		c.call.do(t, p, number, last)
		took := take()
		needed--
		if anyLess(took, want) {
			if seenLess {
				return took
			}
			t.Logf("round %d took %v, less than %v", round, took, want)
			seenLess, needed = true, confirming
			continue
		}
		for i := range least {
			took[i] = min(took[i], least[i])
		}
		least = took
	}
	return least
}

func anyLess(took, want []int) bool {
	for i, n := range took {
		if n < want[i] {
			return true
		}
	}
	return false
}

var nameless = regexp.MustCompile(`[^a-z0-9]+`)

// do makes the call in a round; last is the answer to the one before.
func (c call) do(t *testing.T, p *harness.Portico, number string, last harness.Answer) harness.Answer {
	t.Helper()
	path := strings.ReplaceAll(c.path, "%", number)
	if c.poll {
		link, err := url.Parse(last.Header.Get("Azure-AsyncOperation"))
		if err != nil || link.Path == "" {
			t.Fatalf("there is no polling URL: %v %v", err, last.Header)
		}
		path = link.RequestURI()
	}
	a := p.Do(t, harness.Request{Method: c.method, Path: path, Body: strings.ReplaceAll(c.body, "%", number), Header: c.header})
	if (a.Status >= http.StatusBadRequest) != c.absent || c.absent && a.Status != http.StatusNotFound {
		t.Fatalf("%s %s: %d %s", c.method, path, a.Status, a.Body)
	}
	return a
}

// costWorld has a gateway whose clients have been busy: it need not count what they
// have already.
func costWorld(t *testing.T, config harness.Config) *harness.World {
	t.Helper()
	config.ComputeRegistration = "required"
	config.Extra = "\nindex: {sendWithin: 1m, askTimeout: 20s, sweepInterval: 0s}\n"
	w := harness.NewWorld(t, harness.WorldOptions{Config: config})
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: w.SubscriptionPath() + "/providers/Contoso.Compute/register" + ownVersions}).Want(t, 200)
	w.PutGroup(t, "rg")
	w.PutGroup(t, "locked")
	return w
}

// How often a request waits for a PostgreSQL that is far away.
func TestRoundTripsOfRequests(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	trips := harness.StartRoundTrips(t, postgres.Address)
	w := costWorld(t, harness.Config{Postgres: strings.Replace(postgres.CreateDatabase(t, "portico"), postgres.Address, trips.Address, 1)})
	t.Run("idle", func(t *testing.T) {
		// One second in some twenty has more than the others, and one in five.
		const seconds, perSecond = 25, 5
		time.Sleep(3 * time.Second) // for what it does when it starts
		trips.Take()
		time.Sleep(seconds * time.Second)
		if taken := trips.Take(); len(taken) > seconds*perSecond {
			t.Errorf("an idle gateway makes %d round trips in %d seconds:\n%s", len(taken), seconds, describe(taken))
		}
	})
	for _, c := range requestCosts(w) {
		t.Run(c.name, func(t *testing.T) {
			var shortest []harness.RoundTrip
			got := c.least(t, w.Portico, []int{c.cost.roundTrips}, func() []int {
				taken := slices.DeleteFunc(trips.Take(), ofNoRequest)
				n := harness.InSequence(taken)
				if shortest == nil || n <= harness.InSequence(shortest) {
					shortest = taken
				}
				return []int{n}
			})
			if got[0] != c.cost.roundTrips {
				t.Errorf("it takes %d round trips, the table says %d:\n%s", got[0], c.cost.roundTrips, describe(shortest))
			}
		})
	}
}

// ofNoRequest reports whether a round trip looks for work that is due.
func ofNoRequest(trip harness.RoundTrip) bool {
	return !slices.ContainsFunc(trip.Statements, func(s string) bool { return !lookForWork.MatchString(s) })
}

var lookForWork = regexp.MustCompile(`^SELECT .* FROM (jobs|intents|tombstones|operations|request_batches|leases) WHERE (shard|ends|at|until) `)

func describe(trips []harness.RoundTrip) string {
	var b strings.Builder
	for i, trip := range trips {
		fmt.Fprintf(&b, "%d:\n", i+1)
		for _, statement := range trip.Statements {
			fmt.Fprintf(&b, "    %.160s\n", statement)
		}
	}
	return b.String()
}

// What a request costs of SQLite, where a statement is a call.
func TestStatementsOfRequests(t *testing.T) {
	t.Parallel()
	w := costWorld(t, harness.Config{})
	var last []int
	for _, c := range requestCosts(w) {
		t.Run(c.name, func(t *testing.T) {
			want := []int{c.cost.statements, c.cost.transactions, c.cost.flushes}
			got := c.least(t, w.Portico, want, func() []int {
				now := counted(t, w.Portico)
				since := slices.Clone(now)
				for i := range last {
					since[i] -= last[i]
				}
				last = now
				return since
			})
			if !slices.Equal(got, want) {
				t.Errorf("it takes %d statements, %d transactions that write, %d flushes; the table says %v", got[0], got[1], got[2], want)
			}
		})
	}
}

// counted is how many statements, transactions and flushes a gateway has made.
func counted(t *testing.T, p *harness.Portico) (n []int) {
	t.Helper()
	text := p.Metrics(t)
	for _, name := range []string{"statements", "transactions", "flushes"} {
		_, rest, _ := strings.Cut(text, "\nportico_store_"+name+"_total ")
		var value float64
		if _, err := fmt.Sscan(rest, &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n = append(n, int(value))
	}
	return n
}
