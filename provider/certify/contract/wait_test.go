package contract

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// sceneAt is a scene without a type, at a provider that answers with a handler.
func sceneAt(t *testing.T, limits Limits, h http.HandlerFunc) *Scene {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	d, err := Load([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Adapter: Straight(map[string]string{"westus": server.URL}), Description: d, Group: "group", Limits: limits.orDefault()}
	return newScene(t.Context(), target, trial{}, 1)
}

// play runs steps in a scene and returns the outcome.
func play(s *Scene, steps func(*Scene)) Outcome {
	s.play(Case{Run: steps})
	outcome, _ := s.outcome()
	return outcome
}

func TestThrottledCallsAreRepeated(t *testing.T) {
	t.Parallel()
	calls := 0
	s := sceneAt(t, Limits{}, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls < 4 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	if outcome := play(s, func(s *Scene) { s.get("/subscriptions/s").status(200) }); outcome != Kept || calls != 4 {
		t.Errorf("%s after %d calls: %s", outcome, calls, tell(s.faults))
	}
}

func TestAProviderThatThrottlesForLongIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := sceneAt(t, Limits{Wait: time.Minute}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if outcome := play(s, func(s *Scene) { s.get("/subscriptions/s").status(200) }); outcome != Broken {
		t.Errorf("%s", outcome)
	}
}

func TestRetryAfterCountsUpToThePause(t *testing.T) {
	t.Parallel()
	polls := 0
	s := sceneAt(t, Limits{Wait: time.Minute, Pause: time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		if polls++; polls < 20 {
			w.WriteHeader(http.StatusAccepted)
		}
	})
	outcome := play(s, func(s *Scene) {
		s.await("it ends", func() (*Answer, bool) {
			a := s.get("/subscriptions/s")
			return a, a.Status == 200
		})
	})
	if outcome != Kept || polls != 20 {
		t.Errorf("%s after %d polls: %s", outcome, polls, tell(s.faults))
	}
}

// What ends a run or a scene is no fault of the provider's.
func TestAStoppedSceneIsUnreached(t *testing.T) {
	t.Parallel()
	s := sceneAt(t, Limits{}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancelCause(t.Context())
	s.ctx = ctx
	outcome := play(s, func(s *Scene) {
		cancel(errors.New("the operator has had enough"))
		s.get("/subscriptions/s").status(200)
	})
	if _, why := s.outcome(); outcome != Unreached || why != "the case was ended: the operator has had enough" {
		t.Errorf("%s: %s", outcome, why)
	}
}

// A fault in what prepares is another rule's; one in the rule stays, whatever follows.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	for name, row := range map[string]struct {
		steps func(*Scene)
		want  Outcome
	}{
		"a broken rule":           {func(s *Scene) { s.get("/subscriptions/s").status(200) }, Broken},
		"a step that prepares":    {func(s *Scene) { s.read("/subscriptions/s") }, Unreached},
		"a rule, then a step":     {func(s *Scene) { s.get("/subscriptions/s").check(false, "a", "b"); s.read("/subscriptions/s") }, Broken},
		"nothing to try":          {func(s *Scene) { s.leaveOut("there is nothing") }, LeftOut},
		"a rule that is kept":     {func(s *Scene) { s.get("/subscriptions/s").refused() }, Kept},
		"a fault of the suite's":  {func(*Scene) { panic("oh") }, Unreached},
		"a check before any call": {func(s *Scene) { s.check(false, "a", "b") }, Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := play(sceneAt(t, Limits{}, answer), row.steps); got != row.want {
				t.Errorf("%s, not %s", got, row.want)
			}
		})
	}
}

func TestNamesBesideAName(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ id, name, want string }{
		{"/g/Certify-7", "azure-async", "/g/Certify-7-azure-async"},
		{"/g/certify7", "azure-async", "/g/certify7xazureasync"},
		{"/g/certify7", "op-12", "/g/certify7xop12"},
	} {
		if got := sibling(row.id, row.name); got != row.want {
			t.Errorf("%s beside %s: %s", row.name, row.id, got)
		}
	}
}

func TestWriteOnlyMembersAreNotExpected(t *testing.T) {
	t.Parallel()
	s := sceneAt(t, Limits{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"properties":{"n":1}}`)) })
	body := Object{"properties": Object{"n": 1.0, "secret": "x"}}
	s.Description.types()[0].Contract.WriteOnly = []string{"properties.secret", "properties.absent"}
	thing := "/subscriptions/s/resourceGroups/g/providers/Some.Where/things/a"
	if outcome := play(s, func(s *Scene) { s.get(thing).shows(body) }); outcome != Kept {
		t.Errorf("%s: %s", outcome, tell(s.faults))
	}
	if _, stays := lookup(body, "properties.secret"); !stays {
		t.Error("the body has lost its secret")
	}
	if got := s.Description.types()[0].hidden(body); show(got) != `{"properties":{"secret":"x"}}` {
		t.Errorf("hidden: %s", show(got))
	}
}
