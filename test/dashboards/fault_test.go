package dashboards

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"portico/test/harness"
)

// prepareLoss starts what must wait when eastus is lost: an operation there, and a
// group with a resource there.
func (s *site) prepareLoss(t *testing.T) {
	t.Helper()
	s.PutGroup(t, "leaving")
	s.PutResource(t, "leaving", "Contoso.Compute/virtualMachines/left", machine("eastus"))
	s.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: s.path("Contoso.Compute/virtualMachines/endless"), Body: machine("eastus"),
		Header: harness.Header("x-contoso-async", "azure-async", "x-contoso-duration", "1h"),
	}).Want(t, 201)
}

// deleteGroup deletes that group.
func (s *site) deleteGroup(t *testing.T) {
	t.Helper()
	s.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: s.GroupPath("leaving") + "?api-version=2021-04-01"}).Want(t, 202)
}

// takeOver adds a subscription that may hold resources everywhere.
func (s *site) takeOver(t *testing.T) {
	t.Helper()
	s.Portico.Admin(t, harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/00000000-0000-0000-0000-0000000001ff",
		Body: `{"tenantId":"` + harness.TenantID + `","displayName":"Taken over","covered":false}`,
	}).Want(t, 201)
}

// holdJob makes the database undo every claim of the jobs that follow an accepted
// write; there is one.
func (s *site) holdJob(t *testing.T) {
	t.Helper()
	s.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: s.path("Contoso.Compute/virtualMachines/held"), Body: machine("westus"),
		Header: harness.Header("x-contoso-async", "azure-async", "x-contoso-duration", "1h"),
	}).Want(t, 201)
	db, err := sql.Open("sqlite", "file:"+s.Portico.Database+"?_pragma=busy_timeout(10000)")
	harness.OK(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TRIGGER held BEFORE UPDATE ON jobs WHEN OLD.kind = 'follow' BEGIN SELECT RAISE(IGNORE); END`); err != nil {
		t.Fatal(err)
	}
}

// sweep compares the index with the providers.
func (s *site) sweep(t *testing.T) {
	t.Helper()
	s.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/sweeps", Body: `{}`}).Want(t, 200, 202)
}

// drift creates resources that bypass Portico, one of them in a second region, and
// compares the index.
func (s *site) drift(t *testing.T, p providers) {
	t.Helper()
	for _, created := range []struct{ region, name string }{{"westus", "unknown"}, {"northeurope", "vm-westus"}} {
		path := s.path("Contoso.Compute/virtualMachines/" + created.name)
		p[created.region].Do(t, harness.Request{
			Method: http.MethodPut, Path: path, Body: machine(created.region), Header: harness.Header("Referer", s.Portico.URL+path),
		}).Want(t, 201)
	}
	s.sweep(t)
}

// tokens are one that every request uses, and one that no one uses.
func tokens() []harness.Token {
	named := func(name string) harness.Token {
		return harness.Token{Raw: name, TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-00000000a11c", Name: name}
	}
	return []harness.Token{named("used"), named("removed")}
}

// spoilConfiguration removes the second token from the configuration, and makes the
// gateway read a file that it must refuse.
func (s *site) spoilConfiguration(t *testing.T) {
	t.Helper()
	without := s.Config
	without.Tokens = without.Tokens[:1]
	s.Portico.Write(t, s.Portico.Text(t, without)+"\nunknown: true\n")
	s.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(t, 400)
}

// useUpFiles makes many clients keep connections to the gateway, and then lowers its
// limit of open files to their number.
func (s *site) useUpFiles(t *testing.T) {
	t.Helper()
	for range 60 {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Portico.URL+"/metadata/endpoints?api-version=2022-09-01", nil)
		harness.OK(t, err)
		answer, err := transport.RoundTrip(request)
		harness.OK(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		harness.OK(t, errors.Join(err, answer.Body.Close()))
	}
	pid := strconv.Itoa(s.Portico.Pid())
	open, err := os.ReadDir("/proc/" + pid + "/fd")
	harness.OK(t, err)
	out, err := exec.CommandContext(t.Context(), "prlimit", "--pid", pid, fmt.Sprintf("--nofile=%d:", len(open)+1)).CombinedOutput()
	if err != nil {
		t.Fatalf("prlimit: %v\n%s", err, out)
	}
}
