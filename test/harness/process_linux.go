package harness

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel end the process should the test binary die
// without cleaning up, as it does at a test's time limit.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
