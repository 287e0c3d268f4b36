package reload

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"portico/test/harness"
)

// way is how a gateway comes to know that its configuration has changed.
type way struct {
	name   string
	server string // settings
	tell   func(context.Context, *harness.Portico) error
}

func ways() []way {
	return []way{
		{"`POST /admin/reload`", "  watchInterval: 0s", func(ctx context.Context, p *harness.Portico) error {
			a, err := p.TryAdmin(ctx, harness.Request{Method: http.MethodPost, Path: "/admin/reload"})
			if err == nil && a.Status != http.StatusOK {
				err = fmt.Errorf("status %d: %s", a.Status, a.Body)
			}
			return err
		}},
		{"SIGHUP", "  watchInterval: 0s", func(_ context.Context, p *harness.Portico) error { return syscall.Kill(p.Pid(), syscall.SIGHUP) }},
		{"by itself, `watchInterval: 20ms`", "  watchInterval: 20ms", nil},
		{"by itself, as by default (`watchInterval: 2s`)", "", nil},
	}
}

// A change of the map fails no call, whatever way the gateway is told: those that are
// under way end at the address that they began with, and once one was answered by the new
// address no later one goes to the former.
func TestChangeOfAnAddressUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t, harness.Config{}, func(providers [2]*harness.Contoso) string { return providers[0].URL })
	l := s.startTraffic(t)
	to := 0
	for _, w := range ways()[:3] {
		s.use(t, w, to)
		for range 3 {
			l.more(t, 4)
			to = 1 - to
			s.change(t, w, to)
		}
	}
	l.more(t, 4)
	l.stop()
	if n := l.lost(t, get, list, patch); n != 0 {
		t.Errorf("%d of %v calls failed", n, l.counted())
	}
}

// use has the gateway be told in a way from now on, with the address as it is.
func (s *site) use(t *testing.T, w way, at int) {
	t.Helper()
	s.Portico.Write(t, s.Portico.Text(t, s.withAddress(s.providers[at].URL, w.server)))
	s.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(t, 200)
}

// change writes the address of the other provider, and returns how long after that a
// request was first answered by it.
func (s *site) change(t *testing.T, w way, to int) time.Duration {
	t.Helper()
	text := s.Portico.Text(t, s.withAddress(s.providers[to].URL, w.server))
	marker := harness.Request{Path: s.machine(0) + "?api-version=" + harness.Version}
	s.Portico.Write(t, text)
	written := time.Now()
	reported := make(chan error, 1)
	go func() {
		if w.tell == nil {
			reported <- nil
			return
		}
		reported <- w.tell(t.Context(), s.Portico)
	}()
	for servedBy(t, s.Portico.Do(t, marker)) != fmt.Sprint(to) {
		if time.Since(written) > bound {
			t.Fatalf("%s: no effect within %v", w.name, bound)
		}
	}
	took := time.Since(written)
	harness.OK(t, <-reported)
	for range 20 {
		if by := servedBy(t, s.Portico.Do(t, marker)); by != fmt.Sprint(to) {
			t.Errorf("%s: after an answer by way of the new address, one by way of the former", w.name)
		}
	}
	return took
}
