package observe

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/config"
	"portico/gateway/exchange"
	"portico/internal/logs"
	"portico/routing"
)

// The classes that the configuration allows are those of requests.
func TestClassesOfTheLog(t *testing.T) {
	var names []string
	for class := range routing.Classes {
		names = append(names, routing.Class(class).String())
	}
	path := filepath.Join(t.TempDir(), "portico.yaml")
	if err := os.WriteFile(path, []byte("log: {oneIn: {wibble: 1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(path)
	var faults config.Faults
	errors.As(err, &faults)
	if !slices.ContainsFunc(faults, func(f config.Fault) bool { return f.Allowed == strings.Join(names, ", ") }) {
		t.Errorf("%v, in the configuration %v", names, err)
	}
}

// Of reads that went well one in so many is written; all else is.
func TestSamplingOfTheLog(t *testing.T) {
	var out bytes.Buffer
	log, err := logs.New("info", &out, false)
	if err != nil {
		t.Fatal(err)
	}
	a := newAccessLog(log, config.Log{Slow: time.Second, OneIn: map[string]int{"instance": 10}})
	write := func(class routing.Class, method string, status int, outcome string, took time.Duration) (lines int) {
		out.Reset()
		for range 100 {
			a.write(&served{Exchange: &exchange.Exchange{}, recorder: recorder{status: status}, method: method, class: class, outcome: outcome, total: took})
		}
		return strings.Count(out.String(), "\n")
	}
	for _, c := range []struct {
		class   routing.Class
		method  string
		status  int
		outcome string
		took    time.Duration
		want    int
	}{
		{routing.Instance, "GET", 200, outcomeAnswered, 0, 10}, {routing.Instance, "HEAD", 204, outcomeAnswered, 0, 10},
		{routing.Collection, "GET", 200, outcomeAnswered, 0, 100}, {routing.Instance, "PUT", 200, outcomeAnswered, 0, 100},
		{routing.Instance, "GET", 404, outcomeRefused, 0, 100}, {routing.Instance, "GET", 200, outcomeBroken, 0, 100},
		{routing.Instance, "GET", 200, outcomeAnswered, time.Second, 100},
	} {
		if got := write(c.class, c.method, c.status, c.outcome, c.took); got != c.want {
			t.Errorf("%v: %d lines", c, got)
		}
	}
	write(routing.Instance, "GET", 200, outcomeAnswered, 0)
	if !strings.Contains(out.String(), `"oneIn":10`) {
		t.Errorf("%s", out.String())
	}
}

func TestActionOf(t *testing.T) {
	for request, want := range map[string]string{
		"PUT /subscriptions/s/resourceGroups/g":                                                       "Microsoft.Resources/subscriptions/resourceGroups/write",
		"DELETE /subscriptions/s/resourcegroups/g/":                                                   "Microsoft.Resources/subscriptions/resourcegroups/delete",
		"POST /subscriptions/s/resourceGroups/g/moveResources":                                        "Microsoft.Resources/subscriptions/resourceGroups/moveResources/action",
		"PATCH /subscriptions/s/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m/disks/d": "Contoso.Compute/virtualMachines/disks/write",
		"POST /subscriptions/s/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m/start":    "Contoso.Compute/virtualMachines/start/action",
		"PUT /subscriptions/s/resourceGroups/g/providers/C.A/vms/m/providers/C.B/settings/d":          "C.B/settings/write",
		"PUT /subscriptions/s/resourceGroups/providers/providers/C.A/vms/providers":                   "C.A/vms/write",
		"POST /subscriptions/s/providers/Contoso.Compute/register":                                    "Contoso.Compute/register/action",
		"PUT /subscriptions/s/tagNames/n/tagValues/v":                                                 "Microsoft.Resources/subscriptions/tagNames/tagValues/write",
		"POST /batch": "Microsoft.Resources/batch/action",
		"DELETE /subscriptions/s/resourceGroups/g/providers/Contoso.Compute//virtualMachines/m": "Contoso.Compute/virtualMachines/delete",
		"PUT /": "Microsoft.Resources/write",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := actionOf(method, path); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
}

func TestSubscriptionIn(t *testing.T) {
	const subscription = "00000000-0000-0000-0000-0000000000ab"
	for path, want := range map[string]string{
		"/Subscriptions/" + strings.ToUpper(subscription) + "/x": subscription, "/subscriptions/" + subscription: subscription,
		"/subscriptions/": "", "/subscriptions/x/y": "", "": "", "/x": "", "/subscriptions/" + subscription + "%0a": "",
	} {
		if got := subscriptionIn(path); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
}
