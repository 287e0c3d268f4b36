package scale

import (
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/evidence"
	"portico/test/harness"
)

var (
	decades = flag.String("scale.decades", "", "measure estates of 10 to these powers, such as 4,5,6")
	write   = flag.Bool("scale.write", false, "write what is measured into docs/evidence.md")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// quantity is what is measured over an estate, and often.
type quantity struct {
	name    string
	measure func(*testing.T, *estate) []float64
}

// estate is a gateway over a store of so many resources.
type estate struct {
	*harness.Portico
	providers     *providers
	subscriptions int
	fresh         int // the number of the next new resource
}

func quantities() []quantity {
	read := func(name, path string) quantity {
		return quantity{name + ", ms", func(t *testing.T, e *estate) []float64 {
			return e.each(t, 100, func(s int) harness.Request {
				return harness.Request{Path: strings.NewReplacer("{s}", "/subscriptions/"+subscriptionID(s), "{m}", machineID(s, s*7%ofSubscription)).Replace(path)}
			})
		}}
	}
	return []quantity{
		{"start until ready, ms", func(t *testing.T, e *estate) []float64 {
			var took []float64
			for range 3 {
				e.Stop(t)
				took = append(took, milliseconds(func() { e.Restart(t) }))
			}
			return took
		}},
		{"memory after the start, MiB", func(t *testing.T, e *estate) []float64 {
			now, _, err := peers.Memory(e.Pid())
			harness.OK(t, err)
			return []float64{float64(now) / (1 << 20)}
		}},
		{"reload, ms", func(t *testing.T, e *estate) (took []float64) {
			for range 10 {
				took = append(took, milliseconds(func() {
					e.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(t, 200)
				}))
			}
			return took
		}},
		read("GET of a resource", "{m}?api-version="+harness.Version),
		{"PUT of an existing resource, ms", func(t *testing.T, e *estate) []float64 {
			e.register(t)
			return e.each(t, 100, func(s int) harness.Request { return put(machineID(e.registered(s), 7), regionOf(7)) })
		}},
		{"PUT of a new resource, ms", func(t *testing.T, e *estate) []float64 {
			return e.each(t, 100, func(s int) harness.Request {
				e.fresh++
				return put(machineID(e.registered(s), 0)+"-new-"+strconv.Itoa(e.fresh), regionOf(e.fresh))
			})
		}},
		read("first page of a subscription's resources, 100 of them", "{s}/resources?api-version=2021-04-01&$top=100"),
		read("resources with a tag", "{s}/resources?api-version=2021-04-01&$top=100&$filter=tagName%20eq%20'tier'%20and%20tagValue%20eq%20'gold'"),
		read("groups of a subscription", "{s}/resourceGroups?api-version=2021-04-01"),
		read("machines of a subscription, asked of 50 regions", "{s}/providers/Contoso.Compute/virtualMachines?api-version="+harness.Version),
		read("`tagNames`", "{s}/tagNames?api-version=2021-04-01"),
		read("role assignments of a subscription", "{s}/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01"),
		read("first page of all subscriptions", "/subscriptions?api-version=2022-12-01"),
		{"sweep of a subscription, ms", func(t *testing.T, e *estate) (took []float64) {
			for i := range 3 {
				took = append(took, milliseconds(func() { e.sweep(t, i*e.subscriptions/3) }))
			}
			return took
		}},
		{"memory at most, MiB", func(t *testing.T, e *estate) []float64 {
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
	begun := time.Now()
	do()
	return float64(time.Since(begun)) / float64(time.Millisecond)
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
// waits until all endpoints know of it: that costs the same in an estate of any size.
func (e *estate) register(t *testing.T) {
	t.Helper()
	for s := range writers {
		e.Do(t, put(machineID(e.registered(s), 7), regionOf(7))).Want(t, 200)
	}
	harness.Await(t, 5*time.Minute, "the notices", func() bool {
		return e.providers.notices.Load() >= int64(regions*min(writers, e.subscriptions))
	})
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

// TestScale measures estates of all sizes over both engines.
func TestScale(t *testing.T) {
	if *decades == "" {
		t.Skip("it takes the machine alone for a quarter of an hour: make evidence")
	}
	var powers []int
	for _, text := range strings.Split(*decades, ",") {
		power, err := strconv.Atoi(text)
		harness.OK(t, err)
		powers = append(powers, power)
	}
	place := evidence.Place{File: "../../docs/evidence.md", Subject: "Scale", Command: "make evidence"}
	if *write {
		harness.OK(t, place.Check())
	}
	seen := evidence.Observe("make evidence", evidence.PostgresVersion())
	text := seen.Describe(fmt.Sprintf("estates of 10 to the powers of %s resources", *decades))
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		text += "\n\n#### " + engine + "\n\n" + measureEngine(t, engine, powers)
		t.Log(text)
	}
	if *write {
		harness.OK(t, place.Write(text))
	}
}

// measureEngine measures estates of all sizes over one engine, and renders a row for each
// quantity.
func measureEngine(t *testing.T, engine string, powers []int) string {
	t.Helper()
	measured := map[string][]evidence.Spread{}
	head := []string{""}
	for _, power := range powers {
		head = append(head, fmt.Sprintf("10^%d", power))
		t.Run(fmt.Sprintf("%s-%d", engine, power), func(t *testing.T) {
			e := newEstate(t, engine, int(math.Pow10(power)))
			for _, q := range quantities() {
				measured[q.name] = append(measured[q.name], evidence.SpreadOf(q.measure(t, e)))
			}
		})
	}
	var rows [][]string
	for _, q := range quantities() {
		figures := measured[q.name]
		if len(figures) != len(powers) {
			t.Fatalf("%s was not measured in each size", q.name)
		}
		row := []string{q.name}
		for _, f := range figures {
			row = append(row, f.String())
		}
		rows = append(rows, append(row, growth(figures, powers)...))
	}
	return evidence.Table(append(head, "factor a decade", "at 10^7, derived", "at 10^9, derived"), rows)
}

// growth is by what the least figure is multiplied with each decade, over all that were
// measured, and what it comes to at 10^7 and 10^9 if it goes on like that from the last.
// The least is what other work on the machine disturbed least. One that became less is
// taken to stay as it was at last.
func growth(figures []evidence.Spread, powers []int) []string {
	last, steps := figures[len(figures)-1].Least, powers[len(powers)-1]-powers[0]
	if steps == 0 {
		return []string{"–", "–", "–"}
	}
	factor := math.Pow(last/figures[0].Least, 1/float64(steps))
	row := []string{evidence.Short(factor)}
	for _, power := range []int{7, 9} {
		row = append(row, evidence.Short(last*math.Pow(max(factor, 1), float64(power-powers[len(powers)-1]))))
	}
	return row
}

// newEstate starts a gateway over a store with so many resources.
func newEstate(t *testing.T, engine string, resources int) *estate {
	t.Helper()
	// No sweep comes by itself meanwhile.
	holders := startProviders(t)
	config := harness.Config{Endpoints: holders.endpoints, Extra: "index: {sweepInterval: 0s}\n"}
	for i := len(harness.RegionNames()); i < regions; i++ {
		config.Regions = append(config.Regions, regionOf(i))
	}
	driver, dsn := "sqlite", ""
	if engine == "PostgreSQL" {
		driver, dsn = "pgx", harness.StartPostgres(t).CreateDatabase(t, "estate")
		config.Postgres = dsn
	}
	e := &estate{Portico: harness.StartPortico(t, config), providers: holders, subscriptions: resources / ofSubscription}
	e.Stop(t)
	if dsn == "" {
		dsn = "file:" + e.Database + "?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)"
	}
	t.Logf("%d resources filled in %.0f ms", resources, milliseconds(func() { fill(t, driver, dsn, resources) }))
	e.Restart(t)
	return e
}
