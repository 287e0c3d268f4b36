package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// bound is the longest that a container or a build takes on a machine that is shared.
const bound = 5 * time.Minute

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// put writes a file with the folders above it.
func put(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	harness.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	harness.OK(t, os.WriteFile(path, []byte(content), mode))
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	harness.OK(t, err)
	return string(text)
}

// checkUnit has the container end with its check.
const checkUnit = `[Service]
Type=oneshot
StandardOutput=file:/root/report
StandardError=file:/root/errors
ExecStart=/usr/local/bin/check
ExecStopPost=/usr/bin/systemctl --no-block poweroff
`

// TestUnitRuns boots the systemd of this machine in a container that has the program and
// the unit: it starts, serves as a user of its own, reloads, comes back when it was
// killed, keeps its store, refuses a bad configuration, and stops with status 0.
func TestUnitRuns(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"usr", "var", "run", "tmp", "proc", "sys", "dev", "root"} {
		harness.OK(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
	}
	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		harness.OK(t, os.Symlink("usr/"+link, filepath.Join(root, link)))
	}
	for _, file := range []string{"/etc/os-release", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"} {
		put(t, root+file, read(t, file), 0o644)
	}
	put(t, root+"/etc/machine-id", "", 0o444)
	put(t, root+"/etc/portico/portico.yaml", read(t, "testdata/portico.yaml"), 0o644)
	put(t, root+"/etc/systemd/system/portico.service", read(t, "../../deploy/portico.service"), 0o644)
	put(t, root+"/etc/systemd/system/check.service", checkUnit, 0o644)
	above := t.TempDir() // what /usr of this machine has in addition
	put(t, above+"/bin/portico", read(t, harness.Build(t).Portico), 0o755)
	put(t, above+"/local/bin/check", read(t, "testdata/unit.sh"), 0o755)

	command(t, "systemd-nspawn", "--directory", root, "--overlay-ro=/usr:"+above+":/usr", "--boot", "--register=no", "--keep-unit",
		"--machine=portico-unit-test", "--private-network", "systemd.unit=check.service")
	report := map[string]string{}
	for line := range strings.Lines(read(t, root+"/root/report")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		report[name] = value
	}
	for name, want := range map[string]string{
		"start": "0", "ready": "0", "user": "portico", "listed": "1", "mode": "700 portico 600 portico", "reload": "0", "restart": "0",
		"listed after the restart": "1", "listed after a kill": "1", "reload of a bad file": "1", "active": "active", "stopped": "success 0",
	} {
		if report[name] != want {
			t.Errorf("%s: %q, want %q", name, report[name], want)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", read(t, root+"/root/errors"), read(t, root+"/root/journal"))
	}
}
