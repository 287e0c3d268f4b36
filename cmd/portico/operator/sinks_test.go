package operator

import (
	"errors"
	"testing"

	"portico/gateway/admin/api"
)

// What a script is told of a receiver is its exit status.
func TestSinkTestsAreForScripts(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	if text, _, err := answer(t, l, "sinks test audit"); !errors.Is(err, ErrReported) || text != "audit: denied, 401\n" {
		t.Errorf("%v: %q", err, text)
	}
	l.set("POST /admin/sinks/{name}/test", api.SinkTest{Outcome: "delivered", Status: 204})
	shows(t, l, "sinks test audit", "audit: delivered, 204")
	if path := l.last().URL.Path; path != "/admin/sinks/audit/test" {
		t.Errorf("it asked for %s", path)
	}
}

// A replay names its events, or says that it wants all.
func TestSinkReplays(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	for line, want := range map[string]string{
		"sinks replay audit 17 18": `{"ids":["17","18"]}`,
		"sinks replay audit --all": `{}`,
	} {
		shows(t, l, line, "2 events are to be tried again.")
		if got := l.sentText(); got != want {
			t.Errorf("portico %s sent %s, want %s", line, got, want)
		}
	}
}

// An event of a sink is named as the lists of it show it.
func TestUnstickOfSinks(t *testing.T) {
	alone(t)
	all := answers()
	all["POST /admin/unstick"] = api.Unstuck{Target: "sink/audit/17", Outcome: "It goes on now."}
	l := startListener(t, all)
	for line, want := range map[string]api.UnstickOrder{
		"unstick sink/audit/17 --ask":                     {Sink: "audit", Event: "17", Step: api.Ask},
		"unstick sink/audit/17 --forget --dry-run":        {Sink: "audit", Event: "17", Step: api.Forget, DryRun: true},
		"unstick sink/audit --ask":                        {Sink: "audit", Step: api.Ask},
		"unstick sink/audit/17 --give-up --reason r":      {Sink: "audit", Event: "17", Step: api.GiveUp, Reason: "r"},
		"unstick sink/audit/17 --forget --yes --reason r": {Sink: "audit", Event: "17", Step: api.Forget, Reason: "r"},
		"sinks forget audit 17 --yes --reason r":          {Sink: "audit", Event: "17", Step: api.Forget, Reason: "r"},
	} {
		shows(t, l, line, "sink/audit/17", "It goes on now.")
		if got := l.sent(); got != want {
			t.Errorf("portico %s ordered %+v, want %+v", line, got, want)
		}
	}
	l.set("GET /admin/sinks", api.Page[api.Sink]{Value: []api.Sink{}})
	shows(t, l, "sinks list", "events.sinks")
}
