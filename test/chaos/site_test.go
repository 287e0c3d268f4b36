package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"portico/test/harness"
)

// The time limits of the gateways under test, a small part of those in earnest
// but in the same order.
const (
	sendWithin  = time.Second
	callTimeout = 2 * time.Second
	callMargin  = 500 * time.Millisecond
	lateWrites  = 3 * time.Second
	lease       = 2 * time.Second
	askTimeout  = time.Second

	// Bounds of how long a gateway or the store is stopped: always longer than
	// sendWithin and the lease, and at times than a write may be on its way.
	shortestPause = 3 * time.Second
	longestPause  = 7 * time.Second
	// latest is when a provider still applies a write that it has received,
	// counted from then. It leaves room before lateWrites for a busy machine.
	latest = 2 * time.Second
	// longestDelay is for how long a provider holds up a call, or its answer, at
	// most: past the time limit of the call.
	longestDelay = callTimeout + 300*time.Millisecond
	// storeWait is for how long a gateway may hold a request while the store is
	// away, before it gives the request up.
	storeWait = 10 * time.Second
)

// How long a write without a definite answer may still take effect. Where an
// answer came, it is counted from then: whatever was sent had been sent by then,
// and landed late, and took its time as an asynchronous operation. Where none
// came, it is counted from the call: the write may also have lain before a
// stopped gateway, waited for the store, and been sent at the last moment.
const (
	landBound   = max(latest, longestDelay) + longestOperation + 2*time.Second
	effectBound = longestPause + storeWait + sendWithin + callTimeout + callMargin + lateWrites + longestOperation
)

const settings = `
upstream: {callTimeout: %v}
index:
  sendWithin: %v
  callMargin: %v
  lateWriteWindow: %v
  tombstones: 1m
  askTimeout: %v
  cacheTTL: 3s
  lostAfter: 2s
  followLimit: 20s
  followRecheck: 1s
  pollFloor: 100ms
  sweepInterval: %v
jobs: {lease: %v}
operations: {retryAfterMin: 1s, retryAfterMax: 2s, firstAnswer: 0s}
batch: {immediate: %d, atOnce: %d, perCaller: 1000}
`

// site is everything that runs: the store, the providers, the gateways. Without
// a shared store there is one gateway, with a store of its own.
type site struct {
	primary, standby *harness.Postgres  // nil without a shared store
	regions          []*harness.Contoso // of the regions, then the global one
	gateways         []*harness.Portico
	database         *sql.DB
}

func (s *site) shared() bool { return s.primary != nil }

const databaseName = "portico"

func newSite(t *testing.T, shared bool, sweeps time.Duration) *site {
	t.Helper()
	s := &site{}
	config := harness.Config{
		Endpoints: map[string]string{}, NoETags: true, Failpoints: true, InsightRegistration: "required",
		Extra: fmt.Sprintf(settings, callTimeout, sendWithin, callMargin, lateWrites, askTimeout, sweeps, lease, shortBatch, shortBatch),
	}
	for _, id := range subscriptions {
		config.Subscriptions = append(config.Subscriptions, harness.Subscription{ID: id, TenantID: harness.TenantID, DisplayName: id, State: "Enabled"})
	}
	for _, region := range append(harness.RegionNames(), "global") {
		c := harness.StartContoso(t, region, harness.ContosoOptions{})
		s.regions = append(s.regions, c)
		config.Endpoints[region] = c.URL
	}
	if shared {
		s.primary = harness.StartPostgres(t)
		s.primary.CreateDatabase(t, databaseName)
		s.standby = s.primary.Standby(t)
		config.Postgres = harness.MultiHostDSN(databaseName, s.primary, s.standby)
		s.gateways = harness.StartReplicas(t, 2, config)
		s.open(t, "pgx", config.Postgres)
	} else {
		s.gateways = harness.StartReplicas(t, 1, config)
		s.open(t, "sqlite", "file:"+s.gateways[0].Database+"?_pragma=busy_timeout(5000)")
	}
	s.gateways[0].Do(t, harness.Request{
		Method: http.MethodPost, Path: "/subscriptions/" + harness.SubscriptionID + "/providers/" + registered + "/register" + groupVersion,
	}).Want(t, 200)
	for _, group := range groups {
		s.gateways[0].Do(t, putGroup(group, 0)).Want(t, 201)
	}
	return s
}

// open opens the store, to look at it.
func (s *site) open(t *testing.T, driver, dsn string) {
	t.Helper()
	var err error
	if s.database, err = sql.Open(driver, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.database.Close(); err != nil {
			t.Error(err)
		}
	})
}

const groupVersion = "?api-version=2021-04-01"

func groupPath(group string) string {
	return "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/" + group
}

// putGroup makes a group, or gives it another mark, and so another ETag.
func putGroup(group string, mark int64) harness.Request {
	body := fmt.Sprintf(`{"location":"westus","tags":{"mark":"%d"}}`, mark)
	return harness.Request{Method: http.MethodPut, Path: groupPath(group) + groupVersion, Body: body}
}

// Groups of resources; the first letters of one are another. The last one is
// deleted and made anew all the time.
var groups = []string{"Chaos", "chaos-1", "Chaos_1", "Fleeting"}

const fleeting = 3

// resource is something that clients write to.
type resource struct {
	group, typ, name string
}

// of selects the resources of a group.
func of(group string, all []resource) []resource {
	var some []resource
	for _, r := range all {
		if r.group == group {
			some = append(some, r)
		}
	}
	return some
}

var types = []string{"Contoso.Compute/virtualMachines", "Contoso.Compute/networkInterfaces", "Contoso.Insight/workspaces"}

const resourceCount = 40

// allResources lists what clients write to; a few lie in the group that
// comes and goes.
func allResources() []resource {
	var all []resource
	for i := range resourceCount {
		group := groups[i%fleeting]
		if i%13 == 7 {
			group = groups[fleeting]
		}
		all = append(all, resource{group, types[i%len(types)], fmt.Sprintf("Thing-%02d", i)})
	}
	return all
}

// path is the resource's id, with its name in the casing given.
func (r resource) path(name string) string {
	return groupPath(r.group) + "/providers/" + r.typ + "/" + name
}

// key is the folded id.
func (r resource) key() string { return strings.ToLower(r.path(r.name)) }

// is reports whether an id, in whatever casing, is the resource's.
func (r resource) is(id string) bool { return strings.EqualFold(id, r.path(r.name)) }

// calm takes back what the providers were told to do wrong.
func (s *site) calm(t *testing.T) {
	t.Helper()
	for _, c := range s.regions {
		c.Do(t, harness.Request{Method: http.MethodDelete, Path: "/contoso/faults"}).Want(t, 204)
	}
}

// since makes a clock that counts from now.
func since() func() time.Duration {
	started := time.Now()
	return func() time.Duration { return time.Since(started) }
}

// pause waits, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
