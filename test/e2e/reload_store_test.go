package e2e

import (
	"strings"
	"testing"

	"portico/test/harness"
)

// A reload for which the store was missing is made when the store is back, by
// no one's doing: neither is a change lost, nor is a configuration called bad that
// is not. The log shows when the store was away.
func TestReloadWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: watched, Postgres: postgres.CreateDatabase(t, "reloads")}})
	p := w.Portico
	says := func(message string) bool { return strings.Contains(p.Log(), `"msg":"`+message+`"`) }
	postgres.Stop(t)
	p.Write(t, p.Text(t, withCloudName(w.Config, "second")))
	soon(t, "the reload fails", func() bool { return p.Metric(t, success) == 0 })
	soon(t, "the log tells of the store", func() bool { return says("the store does not answer") })
	if p.Metric(t, generation) != 1 || says("the store answers again") {
		t.Errorf("without a store: generation %v", p.Metric(t, generation))
	}
	postgres.Start(t)
	soon(t, "the reload is made", func() bool { return p.Metric(t, success) == 1 })
	if got := cloud(t, p); got != "second" {
		t.Errorf("it is %q", got)
	}
	soon(t, "the log tells that it is back", func() bool { return says("the store answers again") })
}
