package browser

import (
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// While the store is away the errors are those of one replica, and say so.
func TestErrorsOfOneReplicaAlone(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	w := newWorld(t, harness.Config{Server: withToken(), Postgres: postgres.CreateDatabase(t, "portico")})
	w.Portico.Do(t, harness.Request{Path: w.GroupPath("nothing") + "?api-version=2021-04-01"}).Want(t, 404)
	b := newTab(t, newBrowser(t))
	b.open(w.Portico.AdminURL + "/#/errors")
	b.fill("#token", operator.Raw)
	b.keys("\r")
	b.sees("404 ResourceGroupNotFound")
	b.holds("nothing is lacking", `!document.getElementById('lacks')`)
	postgres.Stop(t)
	b.sees("Only the errors of the replica", "the store does not answer", "404 ResourceGroupNotFound")
	if note, _ := admin(t, w, http.MethodGet, "/admin/errors", "").Want(t, 200).JSON(t)["note"].(string); !strings.Contains(note, "Only the errors of the replica") {
		t.Errorf("the note is %q", note)
	}
	postgres.Start(t)
	b.holds("all is there again", `document.querySelector('.groups details') && !document.getElementById('lacks')`)
	b.harmless()
}
