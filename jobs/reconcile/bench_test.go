package reconcile_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"portico/inventory"
	"portico/jobs"
	"portico/jobs/jobstest"
	"portico/jobs/reconcile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench has runners of the kinds that keep the index true.
type bench struct {
	*jobstest.Provider
	fallback, limit time.Duration // of versions, and of tracking
}

func newBench(t *testing.T) *bench {
	return &bench{Provider: jobstest.NewProvider(t), fallback: time.Hour, limit: time.Hour}
}

// newDoubtfulBench is a bench whose machine has to be verified.
func newDoubtfulBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.Live()
	if err := b.Store.RequestVerify(t.Context(), jobstest.Subscription, jobstest.Machine); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) verifier(store *inventory.Store) reconcile.Verifier {
	return reconcile.Verifier{Prober: b.Prober(store), Floor: jobstest.Floor, Patience: 20 * time.Second, VersionFallback: b.fallback, Region: "westus"}
}

func (b *bench) run(store *inventory.Store) *jobstest.Runner {
	return b.Run(store, map[string]jobs.Kind{
		inventory.VerifyJob: b.verifier(store),
		inventory.FollowJob: &reconcile.OperationTracker{
			Prober: b.Prober(store), Floor: jobstest.Floor, Patience: 20 * time.Second, LostAfter: jobstest.Floor, Limit: b.limit, Recheck: time.Hour,
			VersionFallback: b.fallback, Region: "westus",
		},
	})
}
