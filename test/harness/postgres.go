package harness

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres is a test's own cluster: with the collation C and trust for all connections
// over loopback, which is the only way to it. fsync and synchronous_commit are on, as
// in production. It ends with the test.
type Postgres struct {
	Address string // host:port

	folder   string // this test's; the data is below it
	programs postgresPrograms
	settings []string
	process  *Process
}

// StartPostgres initialises a cluster and starts it. settings are further settings of
// the server, as "name=value".
func StartPostgres(t testing.TB, settings ...string) *Postgres {
	t.Helper()
	p := newPostgres(t, FreeAddress(t), settings)
	p.initialise(t)
	p.Start(t)
	return p
}

// newPostgres makes the folder of a cluster, writable by the server's user.
func newPostgres(t testing.TB, address string, settings []string) *Postgres {
	t.Helper()
	p := &Postgres{Address: address, settings: settings, programs: findPostgres(t)}
	// Not t.TempDir: other users cannot enter its parents.
	folder, err := os.MkdirTemp("", "portico-postgres-")
	OK(t, err)
	p.folder = folder
	t.Cleanup(func() {
		if p.process != nil && !p.process.Ended() {
			p.Crash(t)
		}
		if t.Failed() && p.process != nil {
			t.Logf("%s, standard error:\n%s", p.process.name, p.process.stderr.tail(4096))
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Errorf("removing a cluster: %v", err)
		}
	})
	if p.programs.user != nil {
		OK(t, os.Chown(folder, int(p.programs.user.Uid), int(p.programs.user.Gid)))
	}
	return p
}

func (p *Postgres) data() string { return filepath.Join(p.folder, "data") }

// Start runs the server again after [Postgres.Stop] or [Postgres.Kill], on the same
// address, and waits until it answers.
func (p *Postgres) Start(t testing.TB) {
	t.Helper()
	host, port, err := net.SplitHostPort(p.Address)
	OK(t, err)
	args := []string{"-D", p.data()}
	for _, setting := range append([]string{
		"listen_addresses=" + host, "port=" + port, "unix_socket_directories=", "max_connections=200",
		// A killed server leaves nothing outside its folder.
		"dynamic_shared_memory_type=mmap",
	}, p.settings...) {
		args = append(args, "-c", setting)
	}
	p.process = p.programs.start(t, "postgres on "+p.Address, p.folder, "postgres", args...)
	p.Wait(t)
}

// Wait returns when the server answers.
func (p *Postgres) Wait(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	for {
		conn, err := p.connect(ctx)
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		select {
		case <-p.process.ended:
			t.Fatalf("%s has ended: %v\n%s", p.process.name, p.process.err, p.process.stderr.tail(4096))
		case <-ctx.Done():
			t.Fatalf("%s does not answer: %v\n%s", p.process.name, err, p.process.stderr.tail(4096))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server; its clients' transactions are rolled back.
func (p *Postgres) Stop(t testing.TB) { t.Helper(); p.end(t, syscall.SIGINT) }

// Crash ends the server at once, without a checkpoint: it recovers at its next start.
func (p *Postgres) Crash(t testing.TB) { t.Helper(); p.end(t, syscall.SIGQUIT) }

// Restart stops the server and starts it again; an immediate stop is like a
// crash, with recovery at the start.
func (p *Postgres) Restart(t testing.TB, immediate bool) {
	t.Helper()
	if immediate {
		p.Crash(t)
	} else {
		p.Stop(t)
	}
	p.Start(t)
}

// Kill ends the server and all its processes by SIGKILL.
func (p *Postgres) Kill(t testing.TB) {
	t.Helper()
	p.Pause(t) // so that it starts no more of them
	children := p.children()
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
	}
	p.end(t, syscall.SIGKILL)
	waitGone(t, children)
}

// Pause stops the server and all its processes, with connections left open, until
// [Postgres.Resume].
func (p *Postgres) Pause(t testing.TB) {
	t.Helper()
	p.process.Pause(t)
	for _, pid := range p.children() {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		Await(t, stopBound, fmt.Sprintf("process %d of %s stands still", pid, p.process.name), func() bool { return standsStill(pid) })
	}
}

// Resume undoes [Postgres.Pause].
func (p *Postgres) Resume(t testing.TB) {
	t.Helper()
	for _, pid := range p.children() {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	if err := p.process.signal(syscall.SIGCONT); err != nil {
		t.Fatalf("%s: %v", p.process.name, err)
	}
}

// Log is what the server has logged since its last start.
func (p *Postgres) Log() string { return p.process.Stderr() }

// Pid returns the id of the server's parent process.
func (p *Postgres) Pid() int { return p.process.Pid() }

// Running reports whether the server is running.
func (p *Postgres) Running() bool { return p.process != nil && !p.process.Ended() }

func (p *Postgres) end(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.process.signal(sig); err != nil {
		t.Errorf("%s: %v", p.process.name, err)
		return
	}
	// A paused process reacts only to SIGKILL.
	_ = p.process.signal(syscall.SIGCONT)
	if p.process.waitEnd(stopBound) {
		return
	}
	_ = p.process.signal(syscall.SIGKILL)
	p.process.waitEnd(stopBound)
	t.Errorf("%s did not end within %v of %v and was killed", p.process.name, stopBound, sig)
}

// DSN names a database of the cluster.
func (p *Postgres) DSN(database string) string { return dsn(p.Address, database, "") }

// MultiHostDSN names a database on whichever of two clusters accepts writes.
func MultiHostDSN(database string, a, b *Postgres) string {
	return dsn(a.Address+","+b.Address, database, "&target_session_attrs=read-write")
}

func dsn(hosts, database, further string) string {
	return "postgres://postgres@" + hosts + "/" + url.PathEscape(database) + "?sslmode=disable&connect_timeout=5" + further
}

// CreateDatabase creates an empty database and returns its DSN. Its collation is C
// unless options, the SQL after CREATE DATABASE, say otherwise.
func (p *Postgres) CreateDatabase(t testing.TB, name string, options ...string) string {
	t.Helper()
	statement := "CREATE DATABASE " + pgx.Identifier{name}.Sanitize()
	for _, o := range options {
		statement += " " + o
	}
	p.Exec(t, statement)
	return p.DSN(name)
}

// Exec runs statements in the database postgres, each in its own transaction.
func (p *Postgres) Exec(t testing.TB, statements ...string) {
	t.Helper()
	p.use(t, func(ctx context.Context, conn *pgx.Conn) {
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	})
}

// WaitFor waits until a query for a single boolean, in the database postgres, returns
// true.
func (p *Postgres) WaitFor(t testing.TB, query string) {
	t.Helper()
	p.use(t, func(ctx context.Context, conn *pgx.Conn) {
		for ; ; time.Sleep(20 * time.Millisecond) {
			var yes bool
			if err := conn.QueryRow(ctx, query).Scan(&yes); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			if yes {
				return
			}
		}
	})
}

// use calls do with a connection to the database postgres.
func (p *Postgres) use(t testing.TB, do func(context.Context, *pgx.Conn)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	conn, err := p.connect(ctx)
	OK(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	do(ctx, conn)
}

func (p *Postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return pgx.Connect(ctx, p.DSN("postgres"))
}

func (p *Postgres) children() []int {
	return childrenOf(p.process.cmd.Process.Pid)
}

// childrenOf asks the kernel for the children of a process, if the kernel can say;
// elsewhere a server's processes end with it.
func childrenOf(pid int) (children []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}
