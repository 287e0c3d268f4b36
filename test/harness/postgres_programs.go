package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// postgresPrograms is where the server's programs are, and which user runs them.
type postgresPrograms struct {
	folder string
	user   *syscall.Credential // nil: the current user
}

// findPostgres looks in PATH, then where Debian installs the programs, the latest
// version first. The server refuses to run as root, so root uses another user.
func findPostgres(t testing.TB) postgresPrograms {
	t.Helper()
	NeedsInstalls(t)
	p := postgresPrograms{folder: postgresFolder()}
	if p.folder == "" {
		t.Fatal("no initdb, postgres, pg_basebackup, pg_dump and pg_restore in PATH or below /usr/lib/postgresql: install postgresql, or let test/prepare.sh do it")
	}
	if os.Geteuid() != 0 {
		return p
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
			gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
			if uidErr == nil && gidErr == nil {
				p.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
				return p
			}
		}
	}
	t.Fatal("postgres refuses to be run by root, and there is neither a user postgres nor nobody")
	return p
}

// postgresFolder is the first folder that contains all programs; some folders of PATH
// contain only some.
func postgresFolder() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	version := func(folder string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		return n
	}
	slices.SortFunc(folders, func(a, b string) int { return version(b) - version(a) })
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), folders...) {
		lacking := slices.ContainsFunc([]string{"initdb", "postgres", "pg_basebackup", "pg_dump", "pg_restore"}, func(program string) bool {
			return !isProgram(filepath.Join(folder, program))
		})
		if !lacking && filepath.IsAbs(folder) {
			return folder
		}
	}
	return ""
}

func (p postgresPrograms) command(ctx context.Context, folder, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.folder, name), args...)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"} // without PGDATA and similar variables
	dieWithParent(cmd)
	if p.user != nil {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Credential = p.user
	}
	return cmd
}

// run runs a program to its end.
func (p postgresPrograms) run(t testing.TB, folder, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*startBound)
	defer cancel()
	if out, err := p.command(ctx, folder, name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// start runs a server. The caller ends it: SIGTERM, which ends other processes, would
// make it wait for its clients.
func (p postgresPrograms) start(t testing.TB, name, folder, program string, args ...string) *Process {
	t.Helper()
	process := &Process{
		name: name, cmd: p.command(context.Background(), folder, program, args...),
		stdout: newTranscript(), stderr: logFile(filepath.Join(folder, "stderr")), ended: make(chan struct{}),
	}
	process.cmd.Stdout = process.stdout
	defer process.stderr.receive(t, process.cmd).Close() // the process has its own
	// Its own processes keep its standard output open a little longer.
	process.cmd.WaitDelay = 5 * time.Second
	if err := process.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	go func() {
		process.err = process.cmd.Wait()
		close(process.ended)
	}()
	return process
}

// waitGone returns when all of the processes have ended, except zombies.
func waitGone(t testing.TB, pids []int) {
	t.Helper()
	for deadline := time.Now().Add(stopBound); ; time.Sleep(5 * time.Millisecond) {
		if pids = slices.DeleteFunc(pids, gone); len(pids) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes %v outlive SIGKILL", pids)
		}
	}
}

func gone(pid int) bool { return ended(stateIn(fmt.Sprintf("/proc/%d/stat", pid))) }

// stateIn reads the state of a process or thread from its file stat, "" if it is not there.
func stateIn(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	// pid (name) state …, and a name may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// ended reports whether a state is that of something that runs no more.
func ended(state string) bool { return state == "" || state == "Z" || state == "X" }
