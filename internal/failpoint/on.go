//go:build failpoints

package failpoint

import (
	"context"
	"os"
)

// Enabled reports whether this build has the points.
const Enabled = true

// process holds the rules of this process. It is the one global of the package: the
// steps that it is asked at have nothing to hand it down to them, and a normal
// build does without it.
var process = NewRegistry(end)

// Hit does what the rule of a point says. The error is a [*Failure].
func Hit(p Point) error { return process.Hit(p) }

// Pass is Hit for a point that never fails.
func Pass(p Point) { _ = process.Hit(p) }

// Start takes the rules of the environment and opens the control listener, which
// stop closes. When ctx ends nothing is paused any more, and no rule holds.
func Start(ctx context.Context, getenv func(string) string) (stop func(), err error) {
	return process.start(ctx, getenv)
}

// end ends the process without anything that it would do at its end.
func end(how Action) {
	if how == Kill {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
			select {} // the signal is on its way
		}
	}
	os.Exit(ExitCode)
}
