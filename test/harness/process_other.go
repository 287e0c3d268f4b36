//go:build !linux

package harness

import "os/exec"

// dieWithParent does nothing where the kernel offers no such service.
func dieWithParent(*exec.Cmd) {}
