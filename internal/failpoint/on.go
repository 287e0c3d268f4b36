//go:build failpoints

package failpoint

import (
	"context"
	"os"
)

// Enabled reports whether this build has the points.
const Enabled = true

// process holds the rules of this process. It is the package's only global: the code at
// the points has no other way to get it, and a normal build does not have it.
var process = NewRegistry(end)

// Hit applies the rule of a point. The error is a [*Failure].
func Hit(p Point) error { return process.Hit(p) }

// Pass is like Hit, for a point that never fails.
func Pass(p Point) { _ = process.Hit(p) }

// Start sets the rules in the environment and opens the control listener, which stop
// closes. When ctx ends, all pauses end, and no rule applies any more.
func Start(ctx context.Context, getenv func(string) string) (stop func(), err error) {
	return process.start(ctx, getenv)
}

// end ends the process without any cleanup.
func end(how Action) {
	if how == Kill {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
			select {} // the signal is on its way
		}
	}
	os.Exit(ExitCode)
}
