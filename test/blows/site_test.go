package blows

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"portico/test/harness"
)

// settings shorten what would otherwise be waited for, and leave calls the time that a busy
// machine may take for them. A group's requests are so few that two are a long batch. First
// answers wait for nothing: a client that gets none, as its gateway is killed, rightly begins anew.
const settings = `
index: {sendWithin: 4s, lateWriteWindow: 500ms, callMargin: 500ms, pollFloor: 50ms, askTimeout: 2s, followRecheck: 1s}
upstream: {callTimeout: 6s}
jobs: {lease: 2s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s, firstAnswer: 0s}
batch: {immediate: 2, atOnce: 2}
`

// bound is the longest that anything is waited for.
const bound = 3 * time.Minute

// estate is what all sites share: the providers, a server of databases, and a receiver of
// events.
type estate struct {
	providers []*harness.Contoso
	postgres  *harness.Postgres
	receiver  *receiver
	places    atomic.Int64
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	e := &estate{postgres: harness.StartPostgres(t), receiver: newReceiver(t)}
	for _, region := range append(harness.RegionNames(), "global") {
		e.providers = append(e.providers, harness.StartContoso(t, region, harness.ContosoOptions{}))
	}
	return e
}

// site is the gateways over one store.
type site struct {
	*estate
	gateways []*harness.Portico
	database *sql.DB
	feed     string          // the token of what was read
	reported map[string]int  // the lines of what the feed told, by how many events had each
	exists   map[string]bool // what there is, in the feed's last word on each
	numbers  map[string]bool
}

// newSite starts a gateway over SQLite, or two over a database of PostgreSQL.
func (e *estate) newSite(t *testing.T, name string, replicas int) *site {
	t.Helper()
	config := harness.Config{Failpoints: true, InsightRegistration: "required", Extra: settings + e.receiver.sink(), Endpoints: map[string]string{}}
	for _, c := range e.providers {
		config.Endpoints[c.Region] = c.URL
	}
	if replicas > 1 {
		config.Postgres = e.postgres.CreateDatabase(t, name)
	}
	s := &site{estate: e, gateways: harness.StartReplicas(t, replicas, config), reported: map[string]int{}, exists: map[string]bool{}, numbers: map[string]bool{}}
	var err error
	if replicas > 1 {
		s.database, err = sql.Open("pgx", config.Postgres)
	} else {
		s.database, err = sql.Open("sqlite", "file:"+s.gateways[0].Database+"?_pragma=busy_timeout(5000)")
	}
	harness.OK(t, err)
	t.Cleanup(func() { _ = s.database.Close() })
	return s
}

// place is a subscription of its own, in which one piece of work is done.
type place struct {
	*site
	ctx    context.Context
	sub    string
	chance string        // see kind
	at     *atomic.Int64 // the gateway that has answered last
}

// newPlace makes a subscription with the group rg.
func (s *site) newPlace(t *testing.T, chance string) place {
	t.Helper()
	p := place{site: s, ctx: t.Context(), chance: chance, at: &atomic.Int64{}, sub: fmt.Sprintf("00000000-0000-0000-0001-%012d", s.places.Add(1))}
	harness.OK(t, p.putSubscription("Enabled"))
	harness.OK(t, p.make(p.group("rg"), groupVersion, `{"location":"westus"}`))
	return p
}

const groupVersion = "2021-04-01"

func (p place) subscription() string            { return "/subscriptions/" + p.sub }
func (p place) group(name string) string        { return p.subscription() + "/resourceGroups/" + name }
func (p place) resource(nameInRg string) string { return p.group("rg") + "/providers/" + nameInRg }

// attempt is how long a client waits for an answer before it asks another gateway.
const attempt = 8 * time.Second

// call sends a request until a gateway answers as wanted. A client stays with a gateway for
// as long as that answers.
func (p place) call(r harness.Request, wanted func(harness.Answer) bool) (harness.Answer, error) {
	return p.send((*harness.Portico).Try, r, wanted)
}

// order is call at the admin listener.
func (p place) order(r harness.Request, wanted func(harness.Answer) bool) (harness.Answer, error) {
	return p.send((*harness.Portico).TryAdmin, r, wanted)
}

func (p place) send(by func(*harness.Portico, context.Context, harness.Request) (harness.Answer, error), r harness.Request, wanted func(harness.Answer) bool) (a harness.Answer, err error) {
	for end := time.Now().Add(bound); time.Now().Before(end) && p.ctx.Err() == nil; {
		ctx, cancel := context.WithTimeout(p.ctx, attempt)
		at := p.at.Load()
		a, err = by(p.gateways[at%int64(len(p.gateways))], ctx, r)
		cancel()
		if err == nil && wanted(a) {
			return a, nil
		}
		if err != nil {
			p.at.CompareAndSwap(at, at+1)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return a, fmt.Errorf("%s %s: no answer as wanted within %v; the last: %d %s %w", r.Method, r.Path, bound, a.Status, a.Body, err)
}

// done are answers of success.
func done(a harness.Answer) bool { return a.Status >= 200 && a.Status < 300 }

// gone are answers about what is not there.
func gone(a harness.Answer) bool { return a.Status == http.StatusNotFound }

func (p place) make(id, version, body string, header ...string) error {
	_, err := p.call(harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + version, Body: body, Header: harness.Header(header...)}, done)
	return err
}

func (p place) putMachine(name, region string, header ...string) error {
	return p.make(p.resource("Contoso.Compute/virtualMachines/"+name), harness.Version, fmt.Sprintf(`{"location":%q,"properties":{"size":"small"}}`, region), header...)
}

func (p place) putSubscription(state string) error {
	_, err := p.order(harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/" + p.sub, Body: fmt.Sprintf(`{"tenantId":%q,"displayName":"A place","state":%q}`, harness.TenantID, state),
	}, done)
	return err
}
