package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patroni is a test's own three PostgreSQL servers under Patroni, over an etcd of their own,
// as Debian has them: with a synchronous standby, and otherwise with Patroni's defaults.
// They end with the test.
type Patroni struct {
	members  []*patroniMember
	programs postgresPrograms
	folder   string
	client   *http.Client
}

// patroniMember is one server and the Patroni that keeps it.
type patroniMember struct {
	name          string
	address, api  string // of the server, of Patroni
	folder        string // its data is below it
	configuration string
	process       *Process
}

// StartPatroni runs the three until each is in its place.
func StartPatroni(t testing.TB) *Patroni {
	t.Helper()
	p := &Patroni{programs: findPostgres(t), client: newClient(&http.Transport{DisableKeepAlives: true})}
	var err error
	p.folder, err = os.MkdirTemp("", "portico-patroni-") // not t.TempDir: other users cannot enter its parents
	OK(t, err)
	t.Cleanup(func() { p.end(t) })
	etcd := p.startEtcd(t)
	for _, name := range []string{"one", "two", "three"} {
		m := &patroniMember{name: name, address: FreeAddress(t), api: FreeAddress(t), folder: p.newFolder(t, name)}
		m.configuration = filepath.Join(m.folder, "patroni.yaml")
		OK(t, os.WriteFile(m.configuration, fmt.Appendf(nil, patroniConfiguration, name, m.api, etcd, m.address, m.data(), p.programs.folder, filepath.Join(m.folder, "pgpass")), 0o644))
		p.members = append(p.members, m)
		p.startMember(t, m)
		p.waitFor(t, func(members []PatroniRole) bool { return len(members) == len(p.members) && inPlace(members) })
	}
	return p
}

// patroniConfiguration leaves the times of Patroni as they are by default.
const patroniConfiguration = `
scope: portico
name: %[1]s
restapi: {listen: "%[2]s", connect_address: "%[2]s"}
etcd3: {hosts: "%[3]s"}
bootstrap:
  dcs:
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 200, wal_log_hints: "on", dynamic_shared_memory_type: mmap}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}, no-sync]
postgresql:
  listen: "%[4]s"
  connect_address: "%[4]s"
  data_dir: %[5]q
  bin_dir: %[6]q
  pgpass: %[7]q
  authentication: {superuser: {username: postgres}, replication: {username: replicator}}
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters: {unix_socket_directories: ""}
`

func (m *patroniMember) data() string { return filepath.Join(m.folder, "data") }

// newFolder makes a folder that the servers' user can write.
func (p *Patroni) newFolder(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join(p.folder, name)
	OK(t, os.MkdirAll(folder, 0o700))
	if u := p.programs.user; u != nil {
		for _, f := range []string{p.folder, folder} {
			OK(t, os.Chown(f, int(u.Uid), int(u.Gid)))
		}
	}
	return folder
}

func (p *Patroni) startEtcd(t testing.TB) (address string) {
	t.Helper()
	address, peers := FreeAddress(t), FreeAddress(t)
	process := p.start(t, "etcd", "etcd", p.newFolder(t, "etcd"),
		"--data-dir", "data", "--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
		"--listen-peer-urls", "http://"+peers, "--initial-advertise-peer-urls", "http://"+peers, "--initial-cluster", "default=http://"+peers,
		"--unsafe-no-fsync", "--log-level", "error")
	t.Cleanup(func() { process.Kill(t) })
	return address
}

// start runs a program of Debian as the servers' user.
func (p *Patroni) start(t testing.TB, name, program, folder string, args ...string) *Process {
	t.Helper()
	path := Installed(t, program)
	programs := p.programs
	programs.folder = filepath.Dir(path)
	return programs.start(t, name, folder, filepath.Base(path), args...)
}

func (p *Patroni) startMember(t testing.TB, m *patroniMember) {
	t.Helper()
	m.process = p.start(t, "patroni "+m.name, "patroni", m.folder, m.configuration)
}

// PatroniRole is what a member of the cluster is, in Patroni's words.
type PatroniRole struct {
	Name     string `json:"name"`
	Role     string `json:"role"`  // leader, sync_standby or replica
	State    string `json:"state"` // running or streaming once it is in its place
	Timeline int    `json:"timeline"`
}

// inPlace reports whether there is a leader with a synchronous standby, and everyone follows
// it.
func inPlace(members []PatroniRole) bool {
	lacking := map[string]bool{"leader": true, "sync_standby": len(members) > 1}
	for _, m := range members {
		if m.State != "running" && m.State != "streaming" || m.Timeline != members[0].Timeline {
			return false
		}
		lacking[m.Role] = false
	}
	return !lacking["leader"] && !lacking["sync_standby"]
}

// Wait returns the name of the leader once every member is in its place.
func (p *Patroni) Wait(t testing.TB) (leader string) {
	t.Helper()
	members := p.waitFor(t, func(members []PatroniRole) bool { return len(members) == len(p.members) && inPlace(members) })
	at := slices.IndexFunc(members, func(m PatroniRole) bool { return m.Role == "leader" })
	return members[at].Name
}

// WaitForAnotherLeader returns when another member leads than the one of this name.
func (p *Patroni) WaitForAnotherLeader(t testing.TB, name string) {
	t.Helper()
	p.waitFor(t, func(members []PatroniRole) bool {
		return slices.ContainsFunc(members, func(m PatroniRole) bool { return m.Role == "leader" && m.State == "running" && m.Name != name })
	})
}

func (p *Patroni) waitFor(t testing.TB, wanted func([]PatroniRole) bool) (members []PatroniRole) {
	t.Helper()
	for end := time.Now().Add(startBound); ; time.Sleep(100 * time.Millisecond) {
		members = p.roles(t)
		if wanted(members) {
			return members
		}
		if time.Now().After(end) {
			t.Fatalf("Patroni's cluster has not come to be as wanted within %v: %+v", startBound, members)
		}
	}
}

// roles asks the members, the first of which that answers knows all; nil: none does.
func (p *Patroni) roles(t testing.TB) []PatroniRole {
	t.Helper()
	for _, m := range p.members {
		a, err := send(t.Context(), p.client, "http://"+m.api, "", Request{Path: "/cluster"})
		var cluster struct{ Members []PatroniRole }
		if err == nil && a.Status == http.StatusOK && json.Unmarshal(a.Body, &cluster) == nil {
			return cluster.Members
		}
	}
	return nil
}

// Switchover has another member lead, by Patroni's order, and returns once that is promised.
func (p *Patroni) Switchover(t testing.TB) {
	t.Helper()
	leader := p.member(t, p.Wait(t))
	a, err := send(t.Context(), p.client, "http://"+leader.api, "", Request{
		Method: http.MethodPost, Path: "/switchover", Body: fmt.Sprintf(`{"leader":%q}`, leader.name),
	})
	OK(t, err)
	a.Want(t, 200, 202)
}

// KillLeader kills the leader's Patroni and its server with all of their processes.
func (p *Patroni) KillLeader(t testing.TB) (name string) {
	t.Helper()
	leader := p.member(t, p.Wait(t))
	leader.process.Kill(t)
	p.killServer(t, leader)
	return leader.name
}

// killServer kills a member's server, which outlives its Patroni.
func (p *Patroni) killServer(t testing.TB, m *patroniMember) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.data(), "postmaster.pid"))
	if err != nil {
		return // it has ended
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	OK(t, err)
	_ = syscall.Kill(pid, syscall.SIGSTOP) // so that it starts no more of its processes
	all := append(childrenOf(pid), pid)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
	}
	waitGone(t, all)
}

// Revive runs a member again after [Patroni.KillLeader].
func (p *Patroni) Revive(t testing.TB, name string) {
	t.Helper()
	p.startMember(t, p.member(t, name))
}

func (p *Patroni) member(t testing.TB, name string) *patroniMember {
	t.Helper()
	at := slices.IndexFunc(p.members, func(m *patroniMember) bool { return m.name == name })
	if at < 0 {
		t.Fatalf("Patroni's cluster has no member %q", name)
	}
	return p.members[at]
}

// CreateDatabase creates an empty database and returns the DSN that names all members.
func (p *Patroni) CreateDatabase(t testing.TB, name string) string {
	t.Helper()
	leader := p.member(t, p.Wait(t))
	(&Postgres{Address: leader.address}).CreateDatabase(t, name)
	var addresses []string
	for _, m := range p.members {
		addresses = append(addresses, m.address)
	}
	return dsn(strings.Join(addresses, ","), name, "&target_session_attrs=read-write")
}

// end ends all members, the servers too, which Patroni would leave to themselves if it was
// killed.
func (p *Patroni) end(t testing.TB) {
	t.Helper()
	for _, m := range p.members {
		if !m.process.Ended() {
			m.process.Kill(t)
		}
		p.killServer(t, m)
		if t.Failed() {
			t.Logf("%s, standard error:\n%s", m.process.name, m.process.stderr.tail(4096))
		}
	}
	if err := os.RemoveAll(p.folder); err != nil {
		t.Errorf("removing a cluster: %v", err)
	}
}
