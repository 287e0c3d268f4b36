package harness

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the process if the test binary dies
// without cleaning up, as it does at a test's time limit.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
