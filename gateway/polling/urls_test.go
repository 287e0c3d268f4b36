package polling

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"portico/inventory"
)

// substituteURL is the pattern of a substitute URL.
func substituteURL(kind string) string {
	return "http://portico.example" + inSubscription + "/providers/Contoso.Compute/locations/[a-z]+/" + kind + "/[0-9a-f-]{36}\\?api-version=2024-01-01"
}

func TestGuardPollURLs(t *testing.T) {
	f := newFixture(t)
	const (
		path    = inSubscription + "/providers/Contoso.Compute/locations/westus/operationResults/x" + api
		foreign = "http://evil.example" + path
		public  = "http://portico.example" + path
	)
	const at = inWestus
	result, status := substituteURL("operationresults"), substituteURL("operationStatuses")
	for _, c := range []struct {
		name, sent, want string
		status           int
	}{
		{"Location", at + path, public, 202}, {"Azure-Asyncoperation", at + path, public, 200}, {"Operation-Location", at + path, public, 202},
		{"Location", foreign, result, 202}, {"Azure-Asyncoperation", foreign, status, 201}, {"Operation-Location", foreign, status, 202},
		// What is the provider's own, but no client would get to.
		{"Location", at + "/operations/1", result, 202}, {"Location", at + machines + api, result, 202}, {"Location", at + strings.TrimSuffix(machine, "m") + "other" + api, result, 202},
		{"Location", at + inSubscription + "/providers/Contoso.Insight/locations/westus/jobs/1" + api, result, 202},
		{"Location", at + "/subscriptions/" + other + "/providers/Contoso.Compute/operationResults/x", result, 202},
		{"Location", at + inSubscription + "/providers/Contoso.Unknown/operationResults/x", result, 202},
		{"Location", at, result, 202}, {"Location", "::", result, 202},
		// The resource itself needs no other name.
		{"Location", at + strings.TrimSuffix(machine, "m") + "M" + api, "http://portico.example" + strings.TrimSuffix(machine, "m") + "M" + api, 202},
		{"Location", foreign, "", 201}, {"Location", at + "/a", "http://portico.example/a", 201}, {"Azure-Asyncoperation", foreign, "", 409},
		// deliver refuses this redirect before.
		{"Location", foreign, "", 307}, {"Location", at + path, public, 307}, {"Azure-Asyncoperation", foreign, "", 307},
	} {
		got := strings.Join(f.guarded(c.status, http.Header{c.name: {c.sent, foreign}})[c.name], " ")
		if pattern := regexp.MustCompile("^(" + c.want + ")$"); got != c.want && !(c.want != "" && pattern.MatchString(got)) {
			t.Errorf("%d %s %s became %q, want %q", c.status, c.name, c.sent, got, c.want)
		}
	}
	for _, status := range []int{200, 201, 202, 429, 503} {
		got := f.guarded(status, http.Header{"Location": {at + path}, "Retry-After-Ms": {"1"}, "X-Ms-Retry-After-Ms": {"1"}})
		if got.Get("Retry-After-Ms") != "" || got.Get("X-Ms-Retry-After-Ms") != "" || got.Get("Retry-After") != "" {
			t.Errorf("%d: %v", status, got)
		}
	}
	for status, want := range map[int]string{200: "10", 201: "10", 202: "10", 429: "1", 503: "1", 307: "1"} {
		if got := f.guarded(status, http.Header{"Retry-After": {"1"}}).Get("Retry-After"); got != want {
			t.Errorf("%d: Retry-After %s, want %s", status, got, want)
		}
	}
}

// What is recorded of a polling URL, and of which URLs nothing is.
func TestRecordedPollURLs(t *testing.T) {
	f := newFixture(t)
	const poll = inSubscription + "/providers/Contoso.Compute/operationResults/x?t=1"
	itself, plain := machine+api, machine+"/runCommands/r"+api
	f.guarded(201, http.Header{"Location": {itself}})
	f.guarded(202, http.Header{"Location": {itself}})
	f.guarded(201, http.Header{"Location": {plain}}) // where a resource is
	for _, link := range []string{itself, plain} {
		if _, err := f.recorded(link); !errors.Is(err, inventory.ErrNotFound) {
			t.Errorf("%s: %v", link, err)
		}
	}
	f.guarded(202, http.Header{"Location": {poll}})
	if record, err := f.recorded(poll); err != nil || record.Method != "PUT" || record.Namespace != "Contoso.Compute" || record.Type != "virtualMachines" || record.APIVersion != "2024-01-01" ||
		record.Until.Sub(f.Store.Now()) < 47*time.Hour {
		t.Errorf("%+v %v", record, err)
	}
	for _, link := range []string{
		"/subscriptions/" + other + "/providers/Contoso.Compute/operationResults/y", "/providers/Contoso.Compute/operationResults/y",
		"/subscriptions/" + subscription + "/%2e%2e/y", poll + "&api-version=1&api-version=2",
	} {
		f.guarded(202, http.Header{"Location": {"http://portico.example" + link}})
		if _, err := f.recorded(link); err == nil {
			t.Errorf("%s was recorded", link)
		}
	}
}
