package harness

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// StartPgBouncer starts a PgBouncer before a cluster, as Debian has it but for a pool mode
// and further settings, as "name = value". It returns its address, which stands for the
// cluster's in a DSN. It ends with the test.
func StartPgBouncer(t testing.TB, p *Postgres, mode string, settings ...string) (address string) {
	t.Helper()
	program := Installed(t, "pgbouncer")
	address = FreeAddress(t)
	host, port, err := net.SplitHostPort(address)
	OK(t, err)
	serverHost, serverPort, err := net.SplitHostPort(p.Address)
	OK(t, err)
	folder, err := os.MkdirTemp(p.folder, "pgbouncer-") // which its user can enter
	OK(t, err)
	users, config := filepath.Join(folder, "users"), filepath.Join(folder, "pgbouncer.ini")
	lines := append([]string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s", serverHost, serverPort), "[pgbouncer]",
		"listen_addr = " + host, "listen_port = " + port, "unix_socket_dir =", "auth_type = trust", "auth_file = " + users,
		"pool_mode = " + mode,
	}, settings...)
	for name, content := range map[string]string{users: `"postgres" ""` + "\n", config: strings.Join(lines, "\n") + "\n"} {
		OK(t, os.WriteFile(name, []byte(content), 0o644))
	}
	OK(t, os.Chmod(folder, 0o755))
	programs := p.programs // it refuses to be run by root as well
	programs.folder = filepath.Dir(program)
	process := programs.start(t, "pgbouncer on "+address, folder, filepath.Base(program), config)
	t.Cleanup(func() {
		if process.Ended() {
			t.Errorf("%s ended by itself: %v", process.name, process.err)
		} else {
			process.Kill(t)
		}
		if t.Failed() {
			t.Logf("%s, standard error:\n%s", process.name, process.stderr.tail(4096))
		}
	})
	Await(t, startBound, "PgBouncer to listen", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return address
}
