package operator

import (
	"strings"
	"testing"
	"time"

	"portico/gateway/admin/api"
)

func TestErrorsOfSubscriptions(t *testing.T) {
	alone(t)
	at := time.Now().Add(-3*time.Minute - time.Second)
	one := func(status int, path string, age time.Duration) api.ErrorAnswer {
		subscription := strings.ToLower(strings.SplitN(path+"///", "/", 4)[2])
		return api.ErrorAnswer{Subscription: subscription, Time: at.Add(-age), Method: "GET", Path: path, Status: status, Cause: "gateway", Blame: "unreachable", Message: "It is " + strings.Repeat("far ", 5) + "away.", Code: "BadGatewayConnection", Region: "eastus", CorrelationID: somebody}
	}
	all := answers()
	all["GET /admin/errors"] = api.Page[api.ErrorAnswer]{Value: []api.ErrorAnswer{
		one(404, "/subscriptions/"+somebody, 0), one(503, someID, time.Minute), one(502, strings.ToUpper(someID), 2*time.Minute), one(409, someGroup, 3*time.Minute), one(400, "/", time.Hour),
	}}
	many := one(429, someID, 4*time.Minute)
	many.Count, many.Caller, many.Name, many.Replica = 7, somebody, "Ada", "host-1234"
	all["GET /admin/errors"] = api.Page[api.ErrorAnswer]{Value: append(all["GET /admin/errors"].(api.Page[api.ErrorAnswer]).Value, many)}
	l := startListener(t, all)
	shows(t, l, "errors", "CALLER", "REPLICA", "7", "429", "Ada", "host-1234")
	shows(t, l, "errors --each", "host-1234")
	shows(t, l, "errors --blame caller", "host-1234")
	if got := l.last().URL.Query().Get("blame"); got != "caller" {
		t.Errorf("blame=%q was asked for", got)
	}
	shows(t, l, "errors --each", "host-1234")
	if got := l.last().URL.Query().Get("each"); got != "true" {
		t.Errorf("each=%q was asked for", got)
	}
	shows(t, l, "errors", "SUBSCRIPTION", "404", "unreachable", "It is far far", somebody, "503", someSubscription)
	t.Setenv("NO_COLOR", "1")
	if text := onTerminal(t, l, 132, "errors"); !strings.Contains(text, "SUBSCRIPTION") || !strings.Contains(text, "000000000001 ") {
		t.Errorf("on 132 columns:\n%s", text)
	}
	l.set("GET /admin/subscriptions/{id}", api.Subscription{ID: someSubscription, DisplayName: "Production"})
	shows(t, l, "errors --by-subscription", "SUBSCRIPTION", "NAME", "FAILURES", "REFUSALS", "LAST", someSubscription, "Production", "2", "8", "Ada", "4m ago", somebody, "Production", "0", "1", "-", "3m ago", "-")
	l.set("GET /admin/subscriptions/{id}", refusal{404, "SubscriptionNotFound", "There is none."})
	shows(t, l, "errors --by-subscription", someSubscription, "-", "2", "8", "Ada", "4m ago")

	all["GET /admin/errors"] = api.ErrorAnswers{Note: "One replica alone."}
	l = startListener(t, all)
	shows(t, l, "errors", "No answer was an error in the last day.", "One replica alone.")
}
