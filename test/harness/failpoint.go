package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"portico/internal/failpoint"
)

// environment is added to the test's: the configured variables and, for a Portico that
// has failpoints, their configuration.
func (p *Portico) environment() []string {
	if p.points == "" {
		return p.file.Environment
	}
	return append(slices.Clone(p.file.Environment), failpoint.ListenVariable+"="+p.points, failpoint.RulesVariable+"="+p.Rules)
}

// TryPoints returns how often each failpoint was reached. It may be used from any
// goroutine, as TrySetPoint and TryClearPoint may.
func (p *Portico) TryPoints(ctx context.Context) (map[failpoint.Point]failpoint.State, error) {
	a, err := p.point(ctx, Request{Method: http.MethodGet, Path: "/points"})
	if err != nil {
		return nil, err
	}
	var list struct{ Value []failpoint.State }
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return nil, err
	}
	all := map[failpoint.Point]failpoint.State{}
	for _, s := range list.Value {
		all[s.Name] = s
	}
	return all, nil
}

// TrySetPoint gives a failpoint a rule.
func (p *Portico) TrySetPoint(ctx context.Context, at failpoint.Point, rule string) error {
	_, err := p.point(ctx, Request{Method: http.MethodPut, Path: "/points/" + string(at), Body: rule})
	return err
}

// TryClearPoint removes a failpoint's rule, and releases what is paused there.
func (p *Portico) TryClearPoint(ctx context.Context, at failpoint.Point) error {
	_, err := p.point(ctx, Request{Method: http.MethodDelete, Path: "/points/" + string(at)})
	return err
}

// Points is [Portico.TryPoints]; a failure ends the test.
func (p *Portico) Points(t testing.TB) map[failpoint.Point]failpoint.State {
	t.Helper()
	all, err := p.TryPoints(t.Context())
	OK(t, err)
	return all
}

// SetPoint is [Portico.TrySetPoint]; a refusal ends the test.
func (p *Portico) SetPoint(t testing.TB, at failpoint.Point, rule string) {
	t.Helper()
	OK(t, p.TrySetPoint(t.Context(), at, rule))
}

// ClearPoint is [Portico.TryClearPoint]; a refusal ends the test.
func (p *Portico) ClearPoint(t testing.TB, at failpoint.Point) {
	t.Helper()
	OK(t, p.TryClearPoint(t.Context(), at))
}

// EndsWithin reports whether Portico ends by itself within a bound.
func (p *Portico) EndsWithin(bound time.Duration) bool { return p.process.waitEnd(bound) }

func (p *Portico) point(ctx context.Context, r Request) (Answer, error) {
	a, err := send(ctx, p.Client, "http://"+p.points, "", r)
	if err == nil && a.Status >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %d %s", r.Method, r.Path, a.Status, a.Body)
	}
	return a, err
}
