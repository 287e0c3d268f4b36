package chaos

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// pointBound is how long a fault waits for a gateway to come to a point.
const pointBound = 4 * time.Second

// atPoint does a fault at a failpoint of a gateway, and undoes it. A gateway that
// does not come to the point is not disturbed, but by a kill, which then strikes
// it wherever it is.
func (r *run) atPoint(ctx context.Context, t *testing.T, f fault, on *harness.Portico) {
	t.Helper()
	rule := map[kind]string{
		killAtPoint:  "kill,once",
		pauseAtPoint: fmt.Sprintf("pause:%v,once", f.hold),
		failAtPoint:  "fail,p=0.5",
	}[f.kind]
	if err := on.TrySetPoint(ctx, f.point, rule); err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	if f.kind == killAtPoint {
		r.dieAtPoint(ctx, t, f.point, on)
		return
	}
	bound := pointBound
	if f.kind == failAtPoint {
		bound = f.hold / 3
	}
	state := r.awaitPoint(ctx, on, f.point, bound, func(s failpoint.State) bool { return s.Fired > 0 && f.kind == pauseAtPoint })
	if state.Paused > 0 {
		r.awaitPoint(ctx, on, f.point, f.hold+pointBound, func(s failpoint.State) bool { return s.Paused == 0 })
	}
	r.noted(f, state.Fired)
	if err := on.TryClearPoint(context.WithoutCancel(ctx), f.point); err != nil {
		t.Error(err)
	}
}

// awaitPoint looks at a point until a condition holds, or a bound has passed.
func (r *run) awaitPoint(ctx context.Context, on *harness.Portico, at failpoint.Point, bound time.Duration, done func(failpoint.State) bool) (state failpoint.State) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for n := 0; ctx.Err() == nil && !done(state); n++ {
		r.comeTo(at, n)
		pause(ctx, 20*time.Millisecond)
		if all, err := on.TryPoints(ctx); err == nil {
			state = all[at]
		}
	}
	return state
}

// comeTo has a client delete a group, at every 25th time, where that is what comes
// to a point.
func (r *run) comeTo(at failpoint.Point, n int) {
	if n%25 == 0 && strings.HasPrefix(string(at), "group.") {
		r.groupDeleteWanted.Store(true)
	}
}

// dieAtPoint waits for the gateway's end, and starts it again.
func (r *run) dieAtPoint(ctx context.Context, t *testing.T, at failpoint.Point, on *harness.Portico) {
	t.Helper()
	f := fault{kind: killAtPoint, point: at}
	died := false
	for n := 0; n < int(pointBound/(20*time.Millisecond)) && !died; n++ {
		r.comeTo(at, n)
		died = on.EndsWithin(20 * time.Millisecond)
	}
	if !died {
		// Without an answer it has come to the point at the last moment.
		died = on.TryClearPoint(context.WithoutCancel(ctx), at) != nil && on.EndsWithin(pointBound)
	}
	if died {
		r.noted(f, 1)
	} else {
		r.noted(f, 0)
		on.Kill(t)
	}
	on.Restart(t)
}

// noted counts, for the report, how often a rule did something at a point.
func (r *run) noted(f fault, times int) {
	if times == 0 {
		r.count.fault("point: not reached: " + string(f.point))
	}
	for range times {
		r.count.fault(fmt.Sprintf("point: %s: %s", strings.TrimSuffix(f.kind.String(), " a gateway at a point"), f.point))
	}
}
