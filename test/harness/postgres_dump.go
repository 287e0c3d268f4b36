package harness

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Shell runs a line of a shell as the operator of the server would: in a folder that
// lasts as long as the cluster, with the server's programs in PATH and their environment
// set.
func (p *Postgres) Shell(t testing.TB, line string) {
	t.Helper()
	host, port, err := net.SplitHostPort(p.Address)
	OK(t, err)
	shell, err := exec.LookPath("bash")
	OK(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*startBound)
	defer cancel()
	cmd := p.programs.command(ctx, p.folder, "psql")
	cmd.Path, cmd.Args = shell, []string{shell, "-ec", line}
	cmd.Env = append(cmd.Env, "PATH="+p.programs.folder+":"+os.Getenv("PATH"), "PGHOST="+host, "PGPORT="+port, "PGUSER=postgres")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.TrimSpace(line), err, out)
	}
}

// ReplaceData starts the server, which is stopped, with the data of a base backup in the
// folder of [Postgres.Shell].
func (p *Postgres) ReplaceData(t testing.TB, backup string) {
	t.Helper()
	if p.Running() {
		t.Fatalf("postgres on %s still runs", p.Address)
	}
	OK(t, os.Rename(p.data(), p.data()+".former"))
	OK(t, os.Rename(filepath.Join(p.folder, backup), p.data()))
	p.Start(t)
}
