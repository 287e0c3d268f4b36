package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"portico/test/harness"
)

// runCommand runs a command with the configuration of a service, and returns what it
// printed.
func runCommand(t *testing.T, p *harness.Portico, exit int, args ...string) (stdout, stderr string) {
	t.Helper()
	c := harness.Start(t, "portico "+args[0], t.TempDir(), harness.Build(t).Portico, append(args, "--config", p.ConfigFile)...)
	if code := c.ExitCode(t); code != exit {
		t.Fatalf("portico %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, exit, c.Stdout(), c.Stderr())
	}
	return c.Stdout(), c.Stderr()
}

// storeCopies makes and restores backups of a service's store as its operator would.
type storeCopies interface {
	save(t *testing.T, p *harness.Portico)
	// restore returns what portico restore says. The service runs no more.
	restore(t *testing.T, p *harness.Portico) string
}

type sqliteCopies struct{ file string }

func (c *sqliteCopies) save(t *testing.T, p *harness.Portico) {
	c.file = filepath.Join(t.TempDir(), "saved.db")
	text, _ := runCommand(t, p, 0, "backup", c.file)
	if !strings.Contains(text, " bytes, layout ") || !strings.Contains(text, "portico.db.key, which is not part of the backup") {
		t.Errorf("it says %s", text)
	}
	if info, err := os.Stat(c.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	if _, said := runCommand(t, p, 1, "backup", c.file); !strings.Contains(said, "it exists") {
		t.Errorf("it says %s", said)
	}
	if _, said := runCommand(t, p, 1, "restore", c.file); !strings.Contains(said, "a process has it open") {
		t.Errorf("beside a running service it says %s", said)
	}
}

func (c *sqliteCopies) restore(t *testing.T, p *harness.Portico) string {
	text, _ := runCommand(t, p, 0, "restore", c.file)
	if !strings.Contains(text, ".before-") {
		t.Errorf("it says %s", text)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(p.ConfigFile), "*restoring*")); err != nil || len(left) > 0 {
		t.Errorf("it left %v behind: %v", left, err)
	}
	return text
}

// postgresCopies are made by the commands that docs/operations.md names.
type postgresCopies struct {
	cluster *harness.Postgres
	base    bool // the server's data, not a dump of the database
}

func (c *postgresCopies) save(t *testing.T, p *harness.Portico) {
	c.copy(t)
	if _, said := runCommand(t, p, 1, "restore"); !strings.Contains(said, "a gateway works with the database") {
		t.Errorf("beside a running service it says %s", said)
	}
}

func (c *postgresCopies) copy(t *testing.T) {
	t.Helper()
	if c.base {
		c.run(t, "pg_basebackup")
		return
	}
	c.run(t, "pg_dump")
}

// run runs the lines of the page that begin with one of these words.
func (c *postgresCopies) run(t *testing.T, words ...string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	harness.OK(t, err)
	for _, word := range words {
		before, line, found := strings.Cut(string(page), "\n"+word+" ")
		if !found || strings.Count(before, "```")%2 == 0 {
			t.Fatalf("the page has no command %s", word)
		}
		line, _, _ = strings.Cut(line, "\n")
		c.cluster.Shell(t, word+" "+line)
	}
}

func (c *postgresCopies) restore(t *testing.T, p *harness.Portico) (text string) {
	if c.base {
		c.cluster.Stop(t)
		c.cluster.ReplaceData(t, "portico.base")
	} else {
		c.run(t, "dropdb", "createdb", "pg_restore")
	}
	// The gateway that made the backup counts as alive for a while: the copy says so.
	soon(t, "it is restored", func() bool {
		r := harness.Start(t, "portico restore", t.TempDir(), harness.Build(t).Portico, "restore", "--config", p.ConfigFile)
		done := r.ExitCode(t) == 0
		text = r.Stdout()
		return done
	})
	return text
}

// eachPostgresCopy runs a test with each way of the page.
func eachPostgresCopy(t *testing.T, run func(t *testing.T, copies *postgresCopies, database string)) {
	t.Helper()
	for name, base := range map[string]bool{"pg_dump": false, "pg_basebackup": true} {
		t.Run(name, func(t *testing.T) {
			cluster := harness.StartPostgres(t)
			run(t, &postgresCopies{cluster: cluster, base: base}, cluster.CreateDatabase(t, "portico"))
		})
	}
}

func TestRestoreDestroysNothing(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { testRestore(t, &sqliteCopies{}, "") })
	eachPostgresCopy(t, func(t *testing.T, copies *postgresCopies, database string) { testRestore(t, copies, database) })
}

// A backup is made while the deletion of a group waits for a provider. After it the
// deletion ends, and the group is made anew. The backup is restored: the deletion is
// not gone on with, the index finds what was made since, and forgets what is gone.
func testRestore(t *testing.T, copies storeCopies, database string) {
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Postgres: database, Extra: strings.Replace(deletionSettings, "transientBudget: 20s", "transientBudget: 3m", 1),
	}})
	p := w.Portico
	w.PutGroup(t, "kept")
	w.PutResource(t, "kept", machines+"old", body("westus"))
	w.PutResource(t, "kept", machines+"same", body("eastus"))
	fill(t, w, "rg", map[string]string{machines + "first": "westus", machines + "slow": "eastus"})
	misbehave(t, w, "DELETE", "/slow", "status=503", -1)
	const own = "?api-version=2021-04-01"
	group := w.GroupPath("rg")
	d := deletionOf(t, w, p.Do(t, harness.Request{Method: http.MethodDelete, Path: group + own}).Want(t, 202), "rg")
	soon(t, "only what fails is left", func() bool { return d.progress(t, p).Deleted == 1 })
	copies.save(t, p)
	var feed struct{ Next string }
	harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/changes?after=latest"}).Want(t, 200).Body, &feed))

	// The world goes on.
	behave(t, w)
	soon(t, "the group is gone", func() bool {
		return p.Do(t, harness.Request{Path: group + own}).Status == http.StatusNotFound
	})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"since", body("westus"))
	w.PutResource(t, "kept", machines+"since", body("northeurope"))
	p.Do(t, harness.Request{Method: http.MethodDelete, Path: w.ResourcePath("kept", machines+"old") + "?api-version=" + harness.Version}).Want(t, 200)

	p.Stop(t)
	if text := copies.restore(t, p); !strings.Contains(text, "Canceled: 1 job of clients") {
		t.Errorf("it says %s", text)
	}
	notified := map[string]int{}
	for _, region := range harness.RegionNames() {
		w.Contoso(region).ForgetRequests(t)
		notified[region] = len(w.Contoso(region).Notifications(t)[w.SubscriptionID].Journal)
	}
	p.Restart(t)
	p.Admin(t, harness.Request{Path: "/admin/changes?after=" + feed.Next}).Want(t, 410)
	p.Admin(t, harness.Request{Path: "/admin/changes"}).Want(t, 200)
	soon(t, "the deletion has ended", func() bool { return slices.Equal(statesOf(t, p, "group-delete"), []string{"Cancelled"}) })
	runCommand(t, p, 0, "sweep")
	soon(t, "the index shows what there is", func() bool {
		list := p.Do(t, harness.Request{Path: w.SubscriptionPath() + "/resources" + own}).Want(t, 200)
		var ids []string
		for _, r := range list.Values(t) {
			id, _ := r["id"].(string)
			ids = append(ids, strings.TrimPrefix(id, w.SubscriptionPath()+"/resourceGroups/"))
		}
		slices.Sort(ids)
		const of = "/providers/Contoso.Compute/virtualMachines/"
		return slices.Equal(ids, []string{"kept" + of + "same", "kept" + of + "since", "rg" + of + "since"})
	})
	for _, region := range harness.RegionNames() {
		for _, r := range w.Contoso(region).Requests(t) {
			if r.Method == http.MethodDelete {
				t.Errorf("%s got DELETE %s", region, r.Path)
			}
		}
		soon(t, region+" was notified once more", func() bool {
			return len(w.Contoso(region).Notifications(t)[w.SubscriptionID].Journal) > notified[region]
		})
	}
	w.PutResource(t, "rg", machines+"later", body("westus"))
}

// A restored store denies nothing of what was made since its copy: before any sweep it is
// found, is not made a second time elsewhere, and goes with its group. What was made again
// in another region is found there, by whatever is asked of it, and by the first sweep.
func TestRestoreDeniesNothing(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { testRestoreDeniesNothing(t, &sqliteCopies{}, "") })
	eachPostgresCopy(t, func(t *testing.T, copies *postgresCopies, database string) {
		testRestoreDeniesNothing(t, copies, database)
	})
}

func testRestoreDeniesNothing(t *testing.T, copies storeCopies, database string) {
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Postgres: database, Extra: deletionSettings}})
	p := w.Portico
	fill(t, w, "doomed", map[string]string{machines + "old": "westus"})
	again := map[string]string{}
	for _, name := range []string{"moved", "read", "put", "patched", "deleted"} {
		again[machines+name] = "westus"
	}
	fill(t, w, "kept", map[string]string{machines + "old": "westus", machines + "parent": "westus"})
	fill(t, w, "kept", again)
	copies.save(t, p)
	w.PutResource(t, "doomed", machines+"new", body("eastus"))
	w.PutResource(t, "kept", machines+"new", body("eastus"))
	at := func(name string) string {
		return w.ResourcePath("kept", machines+name) + "?api-version=" + harness.Version
	}
	for name := range again {
		p.Do(t, harness.Request{Method: http.MethodDelete, Path: w.ResourcePath("kept", name) + "?api-version=" + harness.Version}).Want(t, 200)
		w.PutResource(t, "kept", name, body("eastus"))
	}
	w.PutResource(t, "kept", machines+"parent/disks/child", "{}")
	p.Stop(t)
	copies.restore(t, p)

	misbehave(t, w, "GET", w.SubscriptionPath()+"/providers/", "status=503", -1) // no sweep ends
	p.Restart(t)
	p.Do(t, harness.Request{Method: http.MethodPut, Path: at("new"), Body: body("westus")}).WantError(t, 409, "InvalidResourceLocation")
	p.Do(t, harness.Request{Path: at("new")}).Want(t, 200)
	p.Do(t, harness.Request{Path: at("parent/disks/child")}).Want(t, 200)
	list := p.Do(t, harness.Request{Path: w.GroupPath("kept") + "/providers/" + strings.TrimSuffix(machines, "/") + "?api-version=" + harness.Version}).Want(t, 200)
	if n := len(list.Values(t)); n != len(again)+3 {
		t.Errorf("the merged list shows %d machines: %s", n, list.Body)
	}
	p.Do(t, harness.Request{Path: at("read")}).Want(t, 200)
	p.Do(t, harness.Request{Method: http.MethodPut, Path: at("put"), Body: body("westus")}).WantError(t, 409, "InvalidResourceLocation")
	p.Do(t, harness.Request{Method: http.MethodPut, Path: at("put"), Body: body("eastus")}).Want(t, 200)
	p.Do(t, harness.Request{Method: http.MethodPatch, Path: at("patched"), Body: `{"tags":{"a":"b"}}`}).Want(t, 200)
	p.Do(t, harness.Request{Method: http.MethodDelete, Path: at("deleted")}).Want(t, 200)
	w.WantOnlyIn(t, "", w.ResourcePath("kept", machines+"deleted"))
	p.Do(t, harness.Request{Method: http.MethodPut, Path: at("old"), Body: body("westus")}).Want(t, 200)
	beginDelete(t, w, p, "doomed").gone(t, p)
	behave(t, w)
	w.WantOnlyIn(t, "", w.ResourcePath("doomed", machines+"new"))
	runCommand(t, p, 0, "sweep")
	p.Do(t, harness.Request{Path: at("moved")}).Want(t, 200)
	if strays := p.Admin(t, harness.Request{Path: "/admin/strays"}).Want(t, 200).Values(t); len(strays) > 0 {
		t.Errorf("strays: %v", strays)
	}
}

// A fence in a copy forgets that its group was made anew since: what was created under its
// ID is not deleted.
func TestRestoreDeletesNothingUnderAFence(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		testRestoreUnderAFence(t, &sqliteCopies{}, "")
	})
	t.Run("pg_dump", func(t *testing.T) {
		t.Parallel()
		cluster := harness.StartPostgres(t)
		testRestoreUnderAFence(t, &postgresCopies{cluster: cluster}, cluster.CreateDatabase(t, "portico"))
	})
}

func testRestoreUnderAFence(t *testing.T, copies storeCopies, database string) {
	extra := strings.Replace(deletionSettings, "lateWriteWindow: 500ms", "lateWriteWindow: 20s", 1)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Postgres: database, Extra: extra}})
	p := w.Portico
	fill(t, w, "kept", map[string]string{machines + "a": "westus"})
	fill(t, w, "other", map[string]string{machines + "a": "westus", machines + "b": "eastus"})
	w.PutGroup(t, "gone")
	id := w.ResourcePath("gone", machines+"made")
	put := harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body("westus")}
	misbehave(t, w, "PUT", "/made", "status=503", 1)
	p.Do(t, put).Want(t, 503)
	group := harness.Request{Method: http.MethodDelete, Path: w.GroupPath("gone") + ownVersion}
	p.Do(t, group).Want(t, 200, 202)
	fences := func() int { return len(p.Admin(t, harness.Request{Path: "/admin/fences"}).Want(t, 200).Values(t)) }
	soon(t, "the group has left a fence", func() bool { return fences() == 1 })
	copies.save(t, p)
	if fences() != 1 {
		t.Fatal("the copy may have no fence")
	}
	w.PutGroup(t, "gone")
	eventually(t, "what can be created after the fence", func() (harness.Answer, bool) {
		a := p.Do(t, put).Want(t, 201, 409)
		return a, a.Status == http.StatusCreated
	})
	p.Stop(t)
	copies.restore(t, p)
	w.Contoso("westus").ForgetRequests(t)
	p.Restart(t)
	soon(t, "no fence stands", func() bool { return fences() == 0 })
	workEnds(t, p)
	for _, r := range w.Contoso("westus").Requests(t) {
		if r.Method == http.MethodDelete {
			t.Errorf("DELETE %s", r.Path)
		}
	}
	w.PutGroup(t, "gone")
	p.Do(t, harness.Request{Path: put.Path}).Want(t, 200)
}

// statesOf are the states of the jobs of a kind.
func statesOf(t *testing.T, p *harness.Portico, kind string) (all []string) {
	t.Helper()
	var answer struct{ Value []struct{ State string } }
	harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/jobs?kind=" + kind}).Want(t, 200).Body, &answer))
	for _, job := range answer.Value {
		all = append(all, job.State)
	}
	return all
}

// A file that is not whole is not restored, and the database stays what it was.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	p := w.Portico
	w.PutGroup(t, "rg")
	saved := filepath.Join(t.TempDir(), "saved.db")
	runCommand(t, p, 0, "backup", saved)
	p.Stop(t)
	content, err := os.ReadFile(saved)
	harness.OK(t, err)
	database := filepath.Join(filepath.Dir(p.ConfigFile), "portico.db")
	before, err := os.ReadFile(database)
	harness.OK(t, err)
	for name, damaged := range map[string][]byte{
		"cut off":             content[:len(content)/2],
		"a page of zeros":     append(append(slices.Clone(content[:8192]), make([]byte, 4096)...), content[12288:]...),
		"no database":         []byte("not a database, by far"),
		"empty":               nil,
		"a database of other": otherDatabase(t),
	} {
		file := filepath.Join(t.TempDir(), "damaged.db")
		harness.OK(t, os.WriteFile(file, damaged, 0o600))
		if _, said := runCommand(t, p, 1, "restore", file); !strings.Contains(said, "is not a complete database") {
			t.Errorf("%s: it says %s", name, said)
		}
	}
	if _, said := runCommand(t, p, 1, "restore", "none.db"); !strings.Contains(said, "no such file") {
		t.Errorf("it says %s", said)
	}
	after, err := os.ReadFile(database)
	if err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the database changed: %v", err)
	}
	p.Restart(t)
	p.Do(t, harness.Request{Path: w.GroupPath("rg") + "?api-version=2021-04-01"}).Want(t, 200)
}

// A backup that is made while clients write holds all that was answered before.
func TestBackupWhileClientsWrite(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		saved := filepath.Join(t.TempDir(), "saved.db")
		testBackupUnderWrites(t, "", func(p *harness.Portico) { runCommand(t, p, 0, "backup", saved) },
			func(p *harness.Portico) { runCommand(t, p, 0, "restore", saved) })
	})
	eachPostgresCopy(t, func(t *testing.T, copies *postgresCopies, database string) {
		testBackupUnderWrites(t, database, func(*harness.Portico) { copies.copy(t) }, func(p *harness.Portico) { copies.restore(t, p) })
	})
}

func testBackupUnderWrites(t *testing.T, database string, save, restore func(*harness.Portico)) {
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Postgres: database}})
	p := w.Portico
	w.PutGroup(t, "rg")
	acknowledged := make(chan placement)
	go func() {
		defer close(acknowledged)
		write(t.Context(), w, "rg", 0, acknowledged)
	}()
	placed := map[string]string{}
	for len(placed) < 20 {
		one := <-acknowledged
		placed[one.id] = one.region
	}
	done := make(chan struct{})
	go func() { // the writer goes on until the service is gone
		defer close(done)
		for range acknowledged {
		}
	}()
	save(p)
	p.Kill(t)
	<-done
	restore(p)
	p.Restart(t)
	wantPlaced(t, w, placed)
}

// otherDatabase is a database of SQLite that no gateway has made.
func otherDatabase(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", file)
	harness.OK(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE things (name TEXT)")
	content, unread := os.ReadFile(file)
	harness.OK(t, errors.Join(err, db.Close(), unread))
	return content
}
