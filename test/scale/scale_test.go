package scale

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/harness"
)

var (
	decades     = flag.String("scale.decades", "", "measure estates of 10 to these powers, such as 4,5,6")
	assignments = flag.String("scale.assignments", "", "measure what 10 to these powers role assignments cost, such as 1,2,3,4")
	write       = flag.Bool("scale.write", false, "write what is measured into README.md and docs/evidence.md")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// quantity is what is measured over an estate, and often.
type quantity struct {
	name    string
	measure func(*testing.T, *estate) []float64
	// grows is by what its answer, or what it is to do, is multiplied with each decade; 0
	// stands for 1.
	grows float64
	// decides marks what the page for operators shows.
	decides bool
}

func decides(q quantity) quantity {
	q.decides = true
	return q
}

// estate is a gateway over a store of so many resources.
type estate struct {
	*harness.Portico
	size
	providers     *providers
	subscriptions int       // that are not spare
	fresh         int       // the number of the next new resource
	feed          string    // how the feed's tokens begin, before the number of an event
	meanwhile     []float64 // what a GET took while the largest subscription was erased
}

// read has a path of a subscription {s}, or of its machine {m}, read.
func read(name, path string) quantity {
	return quantity{name: name + ", ms", measure: func(t *testing.T, e *estate) []float64 {
		return e.each(t, 100, func(s int) harness.Request {
			return harness.Request{Path: strings.NewReplacer("{s}", "/subscriptions/"+subscriptionID(s), "{m}", machineID(s, s*7%ofSubscription)).Replace(path)}
		})
	}}
}

func quantities() []quantity {
	return []quantity{
		{decides: true, name: "start until ready, ms", measure: func(t *testing.T, e *estate) []float64 {
			var took []float64
			for range 3 {
				e.Stop(t)
				took = append(took, milliseconds(func() { e.Restart(t) }))
			}
			return took
		}},
		{name: "memory after the start, MiB", measure: func(t *testing.T, e *estate) []float64 {
			now, _, err := peers.Memory(e.Pid())
			harness.OK(t, err)
			return []float64{float64(now) / (1 << 20)}
		}},
		{name: "reload, ms", measure: func(t *testing.T, e *estate) (took []float64) {
			for range 10 {
				took = append(took, milliseconds(func() {
					e.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(t, 200)
				}))
			}
			return took
		}},
		decides(read("GET of a resource", "{m}?api-version="+harness.Version)),
		{decides: true, name: "PUT of an existing resource, ms", measure: func(t *testing.T, e *estate) []float64 {
			e.register(t)
			return e.each(t, 100, func(s int) harness.Request { return put(machineID(e.registered(s), 7), regionOf(7)) })
		}},
		{decides: true, name: "PUT of a new resource, ms", measure: func(t *testing.T, e *estate) []float64 {
			return e.each(t, 100, func(s int) harness.Request {
				e.fresh++
				return put(machineID(e.registered(s), 0)+"-new-"+strconv.Itoa(e.fresh), regionOf(e.fresh))
			})
		}},
		decides(read("first page of a subscription's resources, 100 of them", "{s}/resources?api-version=2021-04-01&$top=100")),
		read("resources with a tag", "{s}/resources?api-version=2021-04-01&$top=100&$filter=tagName%20eq%20'tier'%20and%20tagValue%20eq%20'gold'"),
		read("groups of a subscription", "{s}/resourceGroups?api-version=2021-04-01"),
		decides(read("machines of a subscription, asked of 50 regions", "{s}/providers/Contoso.Compute/virtualMachines?api-version="+harness.Version)),
		read("`tagNames`", "{s}/tagNames?api-version=2021-04-01"),
		read("role assignments of a subscription", "{s}/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01"),
		{name: "first page of all subscriptions, ms", grows: 10, measure: read("", "/subscriptions?api-version=2022-12-01").measure},
		read("first page of a subscription's activity log", "{s}/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01&$top=100&$filter=eventTimestamp%20ge%20'2020-01-01T00:00:00Z'"),
		read("changes of a resource", "{m}/providers/Microsoft.Resources/changes?api-version=2022-05-01"),
		feed("first 100 events of the feed", func(*estate, int) string { return "limit=100" }, 100),
		feed("newest 100 events of the feed", func(*estate, int) string { return "limit=100&last=100" }, 100),
		feed("1,000 events anywhere in the feed, for a reader that lags", (*estate).anywhere, 1000),
		{decides: true, name: "sweep of a subscription, ms", measure: func(t *testing.T, e *estate) (took []float64) {
			for i := range 3 {
				took = append(took, milliseconds(func() { e.sweep(t, i*e.subscriptions/3) }))
			}
			return took
		}},
		{name: "erasing of a subscription, ms", measure: func(t *testing.T, e *estate) (took []float64) {
			for i := range spare {
				took = append(took, milliseconds(func() { e.erase(t, e.subscriptions+i, func() { time.Sleep(5 * time.Millisecond) }) }))
			}
			return took
		}},
		{decides: true, name: "erasing of a subscription with a tenth of all resources, ms", grows: 10, measure: func(t *testing.T, e *estate) []float64 { return e.eraseLargest(t) }},
		{name: "GET of a resource meanwhile, ms", measure: func(_ *testing.T, e *estate) []float64 { return e.meanwhile }},
		{decides: true, name: "memory at most, MiB", measure: func(t *testing.T, e *estate) []float64 {
			_, peak, err := peers.Memory(e.Pid())
			harness.OK(t, err)
			return []float64{float64(peak) / (1 << 20)}
		}},
	}
}

func put(id, region string) harness.Request {
	return harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: fmt.Sprintf(`{"location":%q,"properties":{}}`, region)}
}

func milliseconds(do func()) float64 {
	started := time.Now()
	do()
	return float64(time.Since(started)) / float64(time.Millisecond)
}

// each asks about n subscriptions, spread over all, after a tenth as many that do not count.
func (e *estate) each(t *testing.T, n int, request func(subscription int) harness.Request) (took []float64) {
	t.Helper()
	for i := range n + n/10 {
		r := request(i * 7919 % e.subscriptions)
		one := milliseconds(func() { e.Do(t, r).Want(t, 200, 201) })
		if i >= n/10 {
			took = append(took, one)
		}
	}
	return took
}

// writers is the number of subscriptions that are written to.
const writers = 10

// registered is one of those, by the number of any.
func (e *estate) registered(subscription int) int {
	return subscription % writers * e.subscriptions / writers
}

// register makes a first write into each of them, which registers their providers, and
// waits until they are registered: that costs the same in an estate of any size.
func (e *estate) register(t *testing.T) {
	t.Helper()
	for s := range writers {
		e.Do(t, put(machineID(e.registered(s), 7), regionOf(7))).Want(t, 200)
		provider := "/subscriptions/" + subscriptionID(e.registered(s)) + "/providers/Contoso.Compute?api-version=2021-04-01"
		harness.Await(t, 5*time.Minute, "the registration", func() bool {
			return e.Do(t, harness.Request{Path: provider}).Want(t, 200).JSON(t)["registrationState"] == "Registered"
		})
	}
}

// sweep has a subscription compared with its providers to the end.
func (e *estate) sweep(t *testing.T, subscription int) {
	t.Helper()
	ordered := e.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/sweeps", Body: `{"subscription":"` + subscriptionID(subscription) + `"}`}).Want(t, 202)
	harness.Await(t, 5*time.Minute, "the end of the sweep", func() bool {
		state, _ := e.Admin(t, harness.Request{Path: ordered.Header.Get("Location")}).Want(t, 200).JSON(t)["state"].(string)
		if state == "Failed" {
			t.Fatalf("the sweep of %s failed: %s", subscriptionID(subscription), e.Admin(t, harness.Request{Path: ordered.Header.Get("Location")}).Body)
		}
		return state == "Done"
	})
}

// newEstate starts a gateway over a store with so many resources, and with the rows that
// further statements insert.
func newEstate(t *testing.T, engine string, resources int, config harness.Config, further ...string) *estate {
	t.Helper()
	holders := startProviders(t)
	config.Endpoints = holders.endpoints
	config.Extra += "index: {sweepInterval: 0s}\n" // none comes by itself meanwhile
	for i := len(harness.RegionNames()); i < regions; i++ {
		config.Regions = append(config.Regions, regionOf(i))
	}
	driver, dsn := "sqlite", ""
	if engine == "PostgreSQL" {
		driver, dsn = "pgx", harness.StartPostgres(t).CreateDatabase(t, "estate")
		config.Postgres = dsn
	}
	e := &estate{Portico: harness.StartPortico(t, config), size: sizeOf(resources), providers: holders, subscriptions: resources / ofSubscription}
	e.makeMachine(t)
	e.Stop(t)
	if dsn == "" {
		dsn = "file:" + e.Database + "?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)&_pragma=cache_size(-1000000)"
	}
	t.Logf("%d resources filled in %.0f ms", resources, milliseconds(func() { open(t, driver, dsn, e.size).fill(t, further...) }))
	e.Restart(t)
	return e
}

// makeMachine makes a machine, and has its event numbered.
func (e *estate) makeMachine(t *testing.T) {
	t.Helper()
	group := "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/" + created
	e.Do(t, harness.Request{Method: http.MethodPut, Path: group + "?api-version=2021-04-01", Body: `{"location":"westus"}`}).Want(t, 201)
	e.Do(t, put(group+"/providers/Contoso.Compute/virtualMachines/vm", regionOf(0))).Want(t, 200, 201)
	harness.Await(t, 5*time.Minute, "the notices", func() bool { return e.providers.notices.Load() >= 2*regions })
	next, _ := e.Admin(t, harness.Request{Path: "/admin/changes?last=1"}).Want(t, 200).JSON(t)["next"].(string)
	e.feed = next[:strings.LastIndexByte(next, '.')+1]
}
