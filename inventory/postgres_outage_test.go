package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portico/inventory"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/memory"
	"portico/inventory/polls"
	"portico/inventory/storetest"
	"portico/test/harness"
)

// served is a store in earnest: by the server's time.
func served(t *testing.T, dsn string, adjust ...func(*inventory.Options)) *inventory.Store {
	t.Helper()
	o := childOptions(dsn)
	o.Driver, o.Now = engine.Postgres, nil
	for _, a := range adjust {
		a(&o)
	}
	store, err := inventory.Open(t.Context(), o)
	harness.OK(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	harness.OK(t, storetest.Seed(t.Context(), store))
	return store
}

// patience is how long any call may take that finds no server, with a margin
// for a machine that is busy.
const patience = 40 * time.Second

// healed waits until the store takes writes again, by itself.
func healed(t *testing.T, store *inventory.Store) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := store.Ready(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, inventory.ErrUnavailable) || time.Now().After(deadline) {
			t.Fatalf("the store is not back: %v", err)
		}
	}
}

func TestPostgresDownIsUnavailableAndPasses(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	store := served(t, cluster.CreateDatabase(t, "portico"))
	put := func(name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := store.Begin(ctx, seededWrite(name))
		return err
	}
	harness.OK(t, errors.Join(makeSeededGroup(t.Context(), store), put("before")))
	key := []byte(strings.ToLower(seededWrite("before").Key))
	if found, err := store.Locations.Locate(t.Context(), storetest.Sub, key, time.Now()); err != nil || !found.Found {
		t.Fatal(found, err)
	}
	for name, outage := range map[string]struct{ begin, end func(testing.TB) }{
		"killed":  {cluster.Kill, cluster.Start},
		"stopped": {cluster.Stop, cluster.Start},
		"paused":  {cluster.Pause, cluster.Resume},
	} {
		polls := store.Scopes.Reads() // the first since the last outage forgets what is remembered
		harness.Await(t, patience, "memory to answer after two polls", func() bool {
			_, remembered, err := store.Scopes.Subscription(t.Context(), storetest.Sub, time.Now())
			return err == nil && remembered && store.Scopes.Reads() > polls+1
		})
		outage.begin(t)
		since := time.Now()
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				started := time.Now()
				if err := put(fmt.Sprint(name, i)); !errors.Is(err, inventory.ErrUnavailable) {
					t.Errorf("%s: a write: %v", name, err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if _, err := store.Resource(ctx, storetest.Sub, "x"); !errors.Is(err, inventory.ErrUnavailable) {
					t.Errorf("%s: a read: %v", name, err)
				}
				if time.Since(started) >= patience {
					t.Errorf("%s: it took %v", name, time.Since(started))
				}
			})
		}
		if found, err := store.Locations.Locate(t.Context(), storetest.Sub, key, time.Now()); err != nil || !found.Found || !found.Cached {
			t.Errorf("%s: a cached read: %+v, %v", name, found, err)
		}
		harness.Await(t, patience, "memory to answer without the store, once that is known to be "+name, func() bool {
			now := time.Now()
			_, remembered, err := store.Scopes.Subscription(t.Context(), storetest.Sub, now)
			return err == nil && remembered && now.Sub(since) > memory.Bound
		})
		wait.Wait()
		outage.end(t)
		healed(t, store)
		if err := put("after being " + name); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
}

func seededWrite(name string) inventory.Write {
	id := "/subscriptions/" + storetest.Sub + "/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/" + name
	return inventory.Write{Subscription: storetest.Sub, Group: "rg", Key: id, ID: id, Type: "contoso.compute/virtualmachines",
		Region: "westus", APIVersion: "2024-01-01"}
}

func makeSeededGroup(ctx context.Context, store *inventory.Store) error {
	_, _, err := store.EditGroup(ctx, storetest.Sub, "rg", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Location: "westus"}, nil
	})
	return err
}

// creating has workers create resources until it is told to stop, and returns
// the names of those that were acknowledged.
func creating(t *testing.T, store *inventory.Store, prefix string) (count *atomic.Int64, stop func() []string) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var mu sync.Mutex
	var names []string
	var wait sync.WaitGroup
	count = new(atomic.Int64)
	for worker := range 8 {
		wait.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("%s-%d-%d", prefix, worker, i)
				// Not by ctx: a call that is given up tells nothing.
				ticket, err := store.Begin(t.Context(), seededWrite(name))
				if err == nil {
					count.Add(1)
					mu.Lock()
					names = append(names, name)
					mu.Unlock()
					_, err = store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: index.Succeeded})
				}
				if err != nil && !errors.Is(err, inventory.ErrUnavailable) {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	return count, func() []string {
		cancel()
		wait.Wait()
		return names
	}
}

// reaches waits until so many more were acknowledged.
func reaches(t *testing.T, count *atomic.Int64, more int64) {
	t.Helper()
	want := count.Load() + more
	for deadline := time.Now().Add(2 * time.Minute); count.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d were acknowledged, want %d", count.Load(), want)
		}
	}
}

func remembered(t *testing.T, store *inventory.Store, names []string) {
	t.Helper()
	for _, name := range names {
		if _, err := store.Resource(t.Context(), storetest.Sub, seededWrite(name).Key); err != nil {
			t.Errorf("%s was acknowledged: %v", name, err)
		}
	}
	if off, err := store.Recount(t.Context(), storetest.Sub, false); err != nil || len(off) > 0 {
		t.Errorf("usage: %+v, %v", off, err)
	}
}

func TestAcknowledgedIntentsSurviveTheServer(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	store := served(t, cluster.CreateDatabase(t, "portico"))
	harness.OK(t, makeSeededGroup(t.Context(), store))
	count, stop := creating(t, store, "vm")
	for _, restart := range []func(){
		func() { cluster.Kill(t); cluster.Start(t) },
		func() { cluster.Restart(t, true) },
		func() { cluster.Restart(t, false) },
	} {
		reaches(t, count, 100)
		readTargets(t, store, 8) // each by a connection that the restart breaks
		restart()
		reaches(t, count, 1)
		readTargets(t, store, 8)
	}
	reaches(t, count, 100)
	remembered(t, store, stop())
}

// readTargets reads a target several times at once.
func readTargets(t *testing.T, store *inventory.Store, times int) {
	t.Helper()
	var reads sync.WaitGroup
	for range times {
		reads.Go(func() {
			if target, err := store.Target(t.Context(), inventory.TargetQuery{Subscription: storetest.Sub, Group: "rg", Namespace: "Contoso.Compute", Key: "none"}); err != nil || target.Group == nil {
				t.Errorf("got %+v, %v", target, err)
			}
		})
	}
	reads.Wait()
}

func TestAcknowledgedIntentsSurviveTheirPrimary(t *testing.T) {
	t.Parallel()
	primary := harness.StartPostgres(t)
	primary.CreateDatabase(t, "portico")
	standby := primary.Standby(t)
	store := served(t, harness.MultiHostDSN("portico", primary, standby))
	harness.OK(t, makeSeededGroup(t.Context(), store))
	count, stop := creating(t, store, "vm")
	for range 2 {
		reaches(t, count, 100)
		primary.Kill(t)
		standby.Promote(t)
		reaches(t, count, 100)
		primary, standby = standby, standby.Rejoin(t, primary)
	}
	reaches(t, count, 100)
	remembered(t, store, stop())
}

// A client that has the answer to an accepted write can poll what it names, whatever becomes
// of the server.
func TestPollingURLsOfAnswersSurviveACrash(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "wal_writer_delay=10s") // what is not flushed is lost
	store := served(t, cluster.CreateDatabase(t, "portico"))
	harness.OK(t, makeSeededGroup(t.Context(), store))
	ticket, err := store.Begin(t.Context(), seededWrite("vm"))
	harness.OK(t, err)
	_, err = store.Settle(t.Context(), ticket, inventory.WriteResult{
		Outcome: index.Accepted, Status: 202,
		Operations: []polls.Operation{{Subscription: storetest.Sub, Token: "token", Until: store.Now().Add(time.Hour)}},
	})
	harness.OK(t, err)
	cluster.Restart(t, true)
	healed(t, store)
	if _, err := store.Operations.Operation(t.Context(), storetest.Sub, "token"); err != nil {
		t.Errorf("what the client was told to poll: %v", err)
	}
}

// A transaction of somebody else may keep a row for long; the wait for it ends.
func TestALockedRowIsUnavailable(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	dsn := cluster.CreateDatabase(t, "portico")
	store := served(t, dsn)
	harness.OK(t, makeSeededGroup(t.Context(), store))
	conn, err := pgx.Connect(t.Context(), dsn)
	harness.OK(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, statement := range []string{"BEGIN", "SELECT key FROM resource_groups FOR UPDATE"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Begin(t.Context(), seededWrite("vm")); !errors.Is(err, inventory.ErrUnavailable) {
		t.Errorf("error is %v, want one that is ErrUnavailable", err)
	}
	if _, err := store.Group(t.Context(), storetest.Sub, "rg"); err != nil {
		t.Errorf("a read meanwhile: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Begin(t.Context(), seededWrite("vm")); err != nil {
		t.Error(err)
	}
}

func TestDatabasesThatAreUnfitAreRefused(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	for name, options := range map[string]string{
		"collation": "TEMPLATE template0 ENCODING UTF8 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
		"encoding":  "TEMPLATE template0 ENCODING LATIN1",
	} {
		o := childOptions(cluster.CreateDatabase(t, name, options))
		o.Driver = engine.Postgres
		store, err := inventory.Open(t.Context(), o)
		if err == nil {
			store.Close()
			t.Errorf("%s: it opened", name)
			continue
		}
		if errors.Is(err, inventory.ErrUnavailable) || !strings.Contains(err.Error(), "CREATE DATABASE portico TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'UTF8'") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAStandbyAloneIsUnavailable(t *testing.T) {
	t.Parallel()
	primary := harness.StartPostgres(t)
	primary.CreateDatabase(t, "portico")
	standby := primary.Standby(t)
	o := childOptions(standby.DSN("portico"))
	o.Driver = engine.Postgres
	if store, err := inventory.Open(t.Context(), o); !errors.Is(err, inventory.ErrUnavailable) {
		if err == nil {
			store.Close()
		}
		t.Errorf("error is %v, want one that is ErrUnavailable", err)
	}
}

func TestPasswordsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	const secret = "s3cr3t"
	for _, dsn := range []string{
		"postgres://me:" + secret + "@127.0.0.1:port/d",
		"postgres://me:" + secret + "/@127.0.0.1/d",
		"postgres://me:%zz" + secret + "@127.0.0.1/d",
		"postgres://me:" + secret + "@127.0.0.1/d?sslmode=nonsense",
		"postgres://me@127.0.0.1/d?password=" + secret + "&sslrootcert=/absent&sslmode=verify-full",
		"host=127.0.0.1 password = " + secret + " port=x",
		"host=127.0.0.1 password='" + secret,
		secret,
		"postgres://me:" + secret + "@127.0.0.1:1/d?sslmode=disable",
		strings.Replace(cluster.DSN("absent"), "postgres@", "postgres:"+secret+"@", 1),
		strings.Replace(cluster.DSN("postgres"), "postgres@", "nobody:"+secret+"@", 1),
	} {
		o := childOptions(dsn)
		o.Driver = engine.Postgres
		store, err := inventory.Open(t.Context(), o)
		if err == nil {
			store.Close()
			t.Errorf("%q opened", dsn)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// A transaction that lost against another one is made again.
func TestADeadlockIsRetried(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	dsn := cluster.CreateDatabase(t, "portico")
	store := served(t, dsn)
	harness.OK(t, makeSeededGroup(t.Context(), store))
	if _, err := store.Begin(t.Context(), seededWrite("vm")); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	harness.OK(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	exec := func(statement string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// A session looks for a deadlock once, so long after it began to wait. If the machine is so
	// slow that the store had looked already, the server ends the other one: then once more.
	exec("SET deadlock_timeout = '10s'")
	for ended := false; !ended; {
		exec("BEGIN")
		exec("SELECT key FROM resources FOR UPDATE")
		started := make(chan error, 1)
		go func() {
			_, err := store.Begin(t.Context(), seededWrite("vm"))
			started <- err
		}()
		// It holds the group and waits for the row.
		cluster.WaitFor(t, "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'portico' AND wait_event_type = 'Lock')")
		_, err := conn.Exec(t.Context(), "SELECT key FROM resource_groups FOR UPDATE")
		ended = err == nil
		if !ended && !strings.Contains(err.Error(), "deadlock detected") {
			t.Fatal(err)
		}
		exec("ROLLBACK")
		if err := <-started; err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(cluster.Log(), "deadlock detected") {
		t.Error("there was no deadlock")
	}
}

// A settle is visible at once but need not be on the standby. Where that takes
// over without it the intent is still open: no one believes the row, and it is
// asked for in the end.
func TestASettleLostInAFailoverLeadsToAVerification(t *testing.T) {
	t.Parallel()
	primary := harness.StartPostgres(t)
	primary.CreateDatabase(t, "portico")
	standby := primary.Standby(t)
	store := served(t, harness.MultiHostDSN("portico", primary, standby), func(o *inventory.Options) {
		o.SendWithin, o.CallLimit, o.CallMargin, o.LateWriteWindow = time.Second, 3*time.Second, 0, time.Second
	})
	harness.OK(t, makeSeededGroup(t.Context(), store))
	settle := func(kind index.WriteKind, outcome index.Outcome, meanwhile func()) {
		t.Helper()
		w := seededWrite("vm")
		w.Kind, w.LateWriteWindow = kind, 20*time.Second
		ticket, err := store.Begin(t.Context(), w)
		harness.OK(t, err)
		meanwhile()
		if result, err := store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: outcome}); err != nil || !result.Settled {
			t.Fatal(result, err)
		}
	}
	settle(index.Put, index.Succeeded, func() {})
	settle(index.Delete, index.Gone, func() { // the client has its 200, and the standby nothing of it
		standby.Exec(t, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
		standby.WaitFor(t, "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)")
	})
	key := seededWrite("vm").Key
	if _, err := store.Resource(t.Context(), storetest.Sub, key); !errors.Is(err, inventory.ErrNotFound) {
		t.Fatalf("the settle is not visible: %v", err)
	}
	primary.Kill(t)
	standby.Promote(t)
	healed(t, store)
	row, removalOpen, err := store.ResourceAndRemoval(t.Context(), storetest.Sub, key)
	if err != nil || row.Phase != index.Live || !removalOpen && !row.Verify {
		t.Fatalf("the row is %+v, removalOpen %v, %v", row, removalOpen, err)
	}
	for deadline := time.Now().Add(2 * time.Minute); !row.Verify; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the row is never asked for")
		}
		if _, err := store.Expire(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if row, err = store.Resource(t.Context(), storetest.Sub, key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Jobs.Get(t.Context(), storetest.Sub, jobrow.ID(inventory.VerifyJob, row.Key)); err != nil {
		t.Errorf("the job that asks: %v", err)
	}
}
