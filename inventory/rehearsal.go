package inventory

import (
	"context"

	"portico/inventory/engine"
)

// Rehearse returns a context whose writes are refused, or pass, as any other, and change
// nothing; see [engine.Rehearse].
func Rehearse(ctx context.Context) context.Context { return engine.Rehearse(ctx) }

// Rehearsed reports whether writes change nothing: what was written is not found then.
func Rehearsed(ctx context.Context) bool { return engine.Rehearsed(ctx) }

// InEarnest returns a context whose writes count, also within a rehearsal.
func InEarnest(ctx context.Context) context.Context { return engine.InEarnest(ctx) }
