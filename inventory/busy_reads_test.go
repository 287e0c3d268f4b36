package inventory

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/access"
	"portico/access/roles"
	"portico/inventory/assignments"
	"portico/inventory/engine"
	"portico/inventory/memory"
	"portico/test/harness"
)

// However many reads wait for a connection, a replica learns that a role was taken away,
// and its memory allows nothing by it.
func TestBusyReadsDelayNoRevocation(t *testing.T) {
	t.Parallel()
	for driver, at := range map[string]func(t *testing.T, o *Options){
		engine.SQLite: func(*testing.T, *Options) {},
		engine.Postgres: func(t *testing.T, o *Options) {
			o.Driver, o.DSN, o.Connections = engine.Postgres, harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico"), 4
		},
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			at(t, &o)
			var now atomic.Int64
			now.Store(time.Now().UnixMicro())
			o.Now, o.ScopeEntries = func() time.Time { return time.UnixMicro(now.Load()) }, 1000
			other := openTest(t, o)
			registry := prometheus.NewRegistry()
			o.Metrics = registry
			s := openTest(t, o)
			scope := assignments.Scope{TenantID: "t", Subscription: "s", ID: "/subscriptions/s"}
			_, _, err := s.Roles.PutAssignment(t.Context(), scope, reader, func(*assignments.Assignment) (*assignments.Assignment, error) {
				return &assignments.Assignment{ScopeID: scope.ID, PrincipalID: reader, RoleDefinition: roles.Reader}, nil
			})
			harness.OK(t, err)
			granted := func() (any, bool, error) {
				g, remembered, err := s.Scopes.GrantsAt(t.Context(), "t", "s", access.Principal{TenantID: "t", ObjectID: reader}, "/", o.Now())
				return g.Any(), remembered, err
			}
			for _, remembered := range []bool{false, true} {
				if is, from, err := granted(); err != nil || is != true || from != remembered {
					t.Fatal(is, from, err)
				}
			}
			release := occupy(t, s, registry)
			harness.OK(t, other.Roles.DeleteAssignment(t.Context(), scope, reader, func(assignments.Assignment) error { return nil }))
			now.Add((memory.Bound + time.Microsecond).Microseconds())
			answered := make(chan error, 1)
			go func() { answered <- s.Scopes.Ask(t.Context()) }()
			select {
			case err := <-answered:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the question waits for the reads of requests")
			}
			var wait sync.WaitGroup
			wait.Go(func() {
				is, remembered, err := granted()
				if err == nil && (is == true || remembered) || err != nil && !errors.Is(err, ErrUnavailable) {
					t.Errorf("granted %v (remembered %v), %v after the role was taken away", is, remembered, err)
				}
			})
			time.Sleep(10 * time.Millisecond) // it may have begun to wait
			release()
			wait.Wait()
		})
	}
}

// occupy takes all connections by which a store reads, until release is called.
func occupy(t *testing.T, s *Store, registry *prometheus.Registry) (release func()) {
	t.Helper()
	held := make(chan struct{})
	var readers sync.WaitGroup
	release = sync.OnceFunc(func() { close(held); readers.Wait() })
	t.Cleanup(release)
	for range 20 {
		readers.Go(func() {
			_ = s.engine.Read(t.Context()).Each(func(engine.Scanner) error { <-held; return nil }, `SELECT feed FROM event_numbers WHERE subscription = ?`, "")
		})
	}
	harness.Await(t, time.Minute, "reads to hold all connections", func() bool {
		families, err := registry.Gather()
		harness.OK(t, err)
		values := map[string]float64{}
		for _, f := range families {
			values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		return values["go_sql_in_use_connections"] > 0 && values["go_sql_in_use_connections"] == values["go_sql_max_open_connections"]
	})
	return release
}
