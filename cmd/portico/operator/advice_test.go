package operator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRemedies(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	for _, line := range []string{"explain " + someID + " --as dana", "roles check --principal dana --action a --scope /", "roles list --principal dana --subscription " + someSubscription} {
		refuses(t, l, line, `"dana"`, "GUID")
	}
	if len(l.requests) > 0 {
		t.Errorf("the service was asked %d times", len(l.requests))
	}
	l.set("GET /admin/why", refusal{400, "InvalidQueryParameter", "The query parameter 'of' is invalid: it must be the ID of a subscription, or of a group or resource in one."})
	refuses(t, l, "why cache", "begins with /subscriptions/", "such as /subscriptions/0")
	l.set("GET /admin/changes", refusal{400, "InvalidQueryParameter", "The query parameter 'after' is invalid: it must be a token of this feed, or 'latest'."})
	refuses(t, l, "changes --after yesterday", "--since", "token")
	refuses(t, l, "changes --since yesterday", "10m", "2026-01-02T03:04:05Z")
}

func TestPublicListenerIsNamed(t *testing.T) {
	alone(t)
	for _, status := range []int{400, 401, 404} {
		l := &listener{}
		l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-ms-routing-request-id", "WESTUS:20261123T070115Z:x")
			(&listener{}).refuse(w, refusal{status, "AuthenticationFailed", "Authentication failed."})
		}))
		t.Cleanup(l.Close)
		refuses(t, l, "status", "not its admin listener", "8081")
		if _, _, err := answer(t, l, "status"); err != nil && strings.Contains(err.Error(), "token") {
			t.Errorf("%d: advice about tokens: %v", status, err)
		}
	}
}
