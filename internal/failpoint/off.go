//go:build !failpoints

package failpoint

import "context"

// Enabled reports whether this build has the points.
const Enabled = false

// Hit applies the rule of a point; in this build there is none.
func Hit(Point) error { return nil }

// Pass is like Hit, for a point that never fails.
func Pass(Point) {}

// Start sets the rules in the environment; in this build there are none.
func Start(context.Context, func(string) string) (stop func(), err error) { return func() {}, nil }
