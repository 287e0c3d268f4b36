//go:build !failpoints

package failpoint

import "context"

// Enabled reports whether this build has the points.
const Enabled = false

// Hit does what the rule of a point says; here there is none.
func Hit(Point) error { return nil }

// Pass is Hit for a point that never fails.
func Pass(Point) {}

// Start takes the rules of the environment; here there are none.
func Start(context.Context, func(string) string) (stop func(), err error) { return func() {}, nil }
