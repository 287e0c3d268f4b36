package e2e

import (
	"fmt"
	"strings"
	"testing"

	"portico/test/harness"
)

// Through PgBouncer's session pooling, as it comes, a gateway serves and starts again;
// transaction pooling is refused by the check and by the start, in the same words.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	through := func(t *testing.T, mode string) string {
		return strings.Replace(cluster.CreateDatabase(t, mode), cluster.Address, harness.StartPgBouncer(t, cluster, mode), 1)
	}
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Postgres: through(t, "session")}})
		w.PutGroup(t, "rg")
		for i := range 10 {
			w.PutResource(t, "rg", machines+fmt.Sprint("vm", i), `{"location":"westus","tags":{"a":"b"}}`)
		}
		w.Portico.Restart(t)
		w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", machines+"vm1") + machineVersion}).Want(t, 200)
		list := w.Portico.Do(t, harness.Request{Path: w.GroupPath("rg") + "/resources?api-version=2021-04-01"}).Want(t, 200)
		if n := strings.Count(string(list.Body), `"id"`); n != 10 {
			t.Errorf("%d resources are listed: %s", n, list.Body)
		}
		w.Portico.Do(t, harness.Request{Method: "DELETE", Path: w.ResourcePath("rg", machines+"vm1") + machineVersion}).Want(t, 200, 202, 204)
		if p := harness.Start(t, "portico check", t.TempDir(), harness.Build(t).Portico, "check", "--config", w.Portico.ConfigFile); p.ExitCode(t) != 0 || p.Stderr() != "" {
			t.Errorf("the check says %s", p.Stderr())
		}
	})
	t.Run("transaction", func(t *testing.T) {
		t.Parallel()
		text := strings.Replace(goodConfig, "{driver: sqlite, dsn: portico.db}", fmt.Sprintf("{driver: postgres, dsn: %q}", through(t, "transaction")), 1)
		dir := t.TempDir()
		file := writeConfig(t, dir, strings.NewReplacer("127.0.0.1:8080", harness.FreeAddress(t), "127.0.0.1:8081", harness.FreeAddress(t)).Replace(text))
		for _, command := range []string{"check", "serve"} {
			p := harness.Start(t, "portico "+command, dir, harness.Build(t).Portico, command, "--config", file)
			if code := p.ExitCode(t); code != 1 || !lineWith(p.Stdout()+p.Stderr(), "pool_mode = transaction", "name the server itself, or a pool with pool_mode = session") {
				t.Errorf("%s: exit code %d\n%s%s", command, code, p.Stdout(), p.Stderr())
			}
		}
	})
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		p := check(t, strings.Replace(goodConfig, "{driver: sqlite, dsn: portico.db}", fmt.Sprintf("{driver: postgres, dsn: %q}", "postgres://x@"+harness.FreeAddress(t)+"/x"), 1))
		if code := p.ExitCode(t); code != 0 || !lineWith(p.Stderr(), "warning:", "was not checked") {
			t.Errorf("exit code %d\n%s%s", code, p.Stdout(), p.Stderr())
		}
	})
}
