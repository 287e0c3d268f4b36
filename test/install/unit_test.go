package install

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/config"
	"portico/test/harness"
)

const unitFile = "deploy/portico.service"

// TestUnitIsRight has systemd read the unit. In place of the program, which is
// not installed where this is tested, stands another file that can be run.
func TestUnitIsRight(t *testing.T) {
	if said := verify(t, read(t, unitFile)); said != "" {
		t.Error(said)
	}
	wrong := bytes.Replace(read(t, unitFile), []byte("ProtectHome="), []byte("ProtectHouse="), 1)
	if said := verify(t, wrong); !strings.Contains(said, "ProtectHouse") {
		t.Errorf("a wrong unit is right: %s", said)
	}
}

// verify returns what systemd has to say against a unit.
func verify(t *testing.T, unit []byte) string {
	t.Helper()
	program, err := os.Executable()
	harness.OK(t, err)
	file := filepath.Join(t.TempDir(), "portico.service")
	unit = bytes.ReplaceAll(unit, []byte("/usr/bin/portico"), []byte(program))
	harness.OK(t, os.WriteFile(file, unit, 0o600))
	output, err := exec.CommandContext(t.Context(), "systemd-analyze", "--man=no", "verify", file).CombinedOutput()
	if err != nil {
		return err.Error() + "\n" + string(output)
	}
	return string(output)
}

// TestUnitIsHardened bounds the exposure that systemd reckons, in tenths; a
// service that is not hardened has 96.
func TestUnitIsHardened(t *testing.T) {
	const most = "15"
	file, err := filepath.Abs(filepath.Join(root, unitFile))
	harness.OK(t, err)
	output, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+most, file).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestUnitFitsTheProgram(t *testing.T) {
	unit := map[string][]string{}
	lines := bufio.NewScanner(bytes.NewReader(read(t, unitFile)))
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), "="); ok && !strings.HasPrefix(key, "#") {
			unit[key] = append(unit[key], value)
		}
	}
	const check = "/usr/bin/portico check --config /etc/portico/portico.yaml"
	for key, want := range map[string][]string{
		"ExecStartPre": {check},
		"ExecStart":    {"/usr/bin/portico serve --config /etc/portico/portico.yaml"},
		"ExecReload":   {check, "/bin/kill -HUP $MAINPID"},
	} {
		if !slices.Equal(unit[key], want) {
			t.Errorf("%s: %q", key, unit[key])
		}
	}
	stop, err := time.ParseDuration(unit["TimeoutStopSec"][0])
	if drain := config.Defaults().Server.Drain; err != nil || stop <= drain.Delay+drain.Limit {
		t.Errorf("it is killed after %v, its drain takes %v and %v", stop, drain.Delay, drain.Limit)
	}
}
