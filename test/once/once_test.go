// Package once runs a command as a test, so that the go command keeps its success: with
// the same environment, the command does not run again. test/once.sh names both.
package once

import (
	"os"
	"os/exec"
	"testing"
)

func TestCommand(t *testing.T) {
	command := os.Getenv("ONCE_COMMAND")
	if command == "" {
		t.Skip("ONCE_COMMAND names no command")
	}
	_ = os.Getenv("ONCE_INPUTS") // the success holds for as long as this says the same
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "../..", os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}
