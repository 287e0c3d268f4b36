package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/test/harness"
)

func notice(state, offer string, features ...string) harness.Notification {
	n := harness.Notification{State: state}
	n.Properties.QuotaID = offer
	for _, name := range features {
		n.Properties.RegisteredFeatures = append(n.Properties.RegisteredFeatures, struct{ Name, State string }{name, "Registered"})
	}
	return n
}

func TestNotificationMismatch(t *testing.T) {
	const big = "Contoso.Compute/bigMachines"
	enabled := subscriptionRow{state: inventory.Enabled, offer: "offer-2", features: big}
	is := func(s subscriptionRow, r inventory.RegistrationState) subscriptionRow { s.registration = r; return s }
	in := func(s inventory.SubscriptionState) subscriptionRow {
		return subscriptionRow{state: s, offer: "offer-2"}
	}
	for name, c := range map[string]struct {
		of            subscriptionRow
		namespace     string
		notifications harness.Notification
		want          string // a part of it; "" for none
	}{
		"the newest":                    {enabled, "contoso.compute", notice("Registered", "offer-2", big), ""},
		"an older offer":                {enabled, "contoso.compute", notice("Registered", "offer-1", big), `"offer-1", want "offer-2"`},
		"an older state":                {in(inventory.Warned), "contoso.compute", notice("Registered", "offer-2"), `"Registered", want "Warned"`},
		"without the feature":           {enabled, "contoso.compute", notice("Registered", "offer-2"), "features"},
		"with a feature that has gone":  {in(inventory.Enabled), "contoso.compute", notice("Registered", "offer-2", big), "features"},
		"nothing":                       {enabled, "contoso.compute", notice("", ""), `"", want "Registered"`},
		"past due":                      {in(inventory.PastDue), "contoso.compute", notice("Registered", "offer-2"), ""},
		"disabled":                      {in(inventory.Disabled), "contoso.compute", notice("Suspended", "offer-2"), ""},
		"deleted":                       {in(inventory.Deleted), "contoso.compute", notice("Deleted", "offer-2", big), ""},
		"not told that it is deleted":   {in(inventory.Deleted), "contoso.compute", notice("Registered", "offer-1"), `want "Deleted"`},
		"registered":                    {is(enabled, inventory.Registered), registered, notice("Registered", "offer-2"), ""},
		"registered, an older offer":    {is(enabled, inventory.Registered), registered, notice("Registered", "offer-1"), `"offer-1", want "offer-2"`},
		"registered, and not told":      {is(enabled, inventory.Registered), registered, notice("Unregistered", "offer-2"), `want "Registered"`},
		"registered, warned":            {is(in(inventory.Warned), inventory.Registered), registered, notice("Warned", "offer-2"), ""},
		"unregistered":                  {is(enabled, inventory.Unregistered), registered, notice("Unregistered", "offer-1"), ""},
		"unregistered, and not told":    {is(enabled, inventory.Unregistered), registered, notice("Registered", "offer-2"), `want "Unregistered"`},
		"never registered":              {enabled, registered, notice("", ""), ""},
		"never registered, but told":    {enabled, registered, notice("Registered", "offer-2"), "no one registered"},
		"not registered since anew":     {enabled, registered, notice("Deleted", "offer-1"), ""},
		"deleted, without registration": {in(inventory.Deleted), registered, notice("", ""), `"", want "Deleted"`},
		"left registering":              {is(enabled, inventory.Registering), registered, notice("Registered", "offer-2"), "it is left Registering"},
	} {
		if got := c.of.mismatch(c.namespace, c.notifications); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A notification is stale if it arrives after all endpoints knew a newer version,
// unless its change had no answer and may have been made late.
func TestStaleNotification(t *testing.T) {
	now := time.Now()
	s := &subscriptionClient{answered: map[string]bool{"offer-1": true, "offer-3": true, "offer-4": true}, lastSettled: settledState{now, "offer-3", 3}}
	for _, c := range []struct {
		offer string
		after time.Duration
		want  bool
	}{
		{"offer-1", time.Second, true},
		{"offer-1", -time.Second, false},
		{"offer-2", time.Second, false}, // its change had no answer
		{"offer-3", time.Second, false},
		{"offer-4", time.Second, false},
		{"", time.Second, false}, // as the configuration has it
	} {
		if got := s.isStale(harness.NotificationEntry{QuotaID: c.offer, Time: now.Add(c.after)}); got != c.want {
			t.Errorf("%q after %v: %v", c.offer, c.after, got)
		}
	}
}

// Each part of a batch gets the answer with its name, in whatever order they come.
func TestEachPartOfABatchGetsItsAnswer(t *testing.T) {
	r := &run{clock: since(), count: newCounts(), hints: map[string]string{}, consumer: &consumer{}}
	c := &client{run: r}
	all := allResources()
	parts := make([]part, 4)
	for i := range parts {
		parts[i].on = all[i]
		parts[i].operation = operation{Resource: all[i].key(), Verb: []verb{put, remove, put, get}[i], Region: "westus", Value: int64(i)}
	}
	response := func(name, rest string) string { return fmt.Sprintf(`{"name":%q,%s}`, name, rest) }
	c.take(t.Context(), parts, harness.Answer{Body: []byte(`{"responses":[` + strings.Join([]string{
		response("3", `"httpStatusCode":200,"headers":{},"content":{"location":"eastus","properties":{"value":7}}`),
		response("1", `"httpStatusCode":204,"headers":{}`),
		response("2", `"httpStatusCode":500,"headers":{"x-ms-failure-cause":"gateway"},"content":{"error":{"code":"InternalServerError","message":"The outcome of the request is unknown: it was sent, and its answer was lost."}}`),
		response("0", `"httpStatusCode":201,"headers":{}`),
	}, ",") + `]}`)})
	if c.count.surprised > 0 {
		t.Fatal(c.count.surprises)
	}
	got := map[string]operation{}
	for key, operations := range r.history.byResource() {
		got[key] = operations[0]
	}
	for i, want := range []verdict{created, wasAbsent, open, seen} {
		if o := got[all[i].key()]; o.Verdict != want || want == open && o.Return < effectBound || want == seen && o.Seen != (content{"eastus", 7}) {
			t.Errorf("part %d: %v, want %v", i, o, want)
		}
	}
	c.take(t.Context(), parts, harness.Answer{Body: []byte(`{"responses":[` + response("0", `"httpStatusCode":201,"headers":{}`) + `]}`)})
	if c.count.surprised != 1 {
		t.Errorf("answers were missing, but there were %d surprises", c.count.surprised)
	}
}
