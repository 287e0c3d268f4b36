package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"portico/test/harness"
)

// place is where a write goes.
type place struct{ subscription, group, name string }

func (p place) groupPath() string {
	return "/subscriptions/" + p.subscription + "/resourceGroups/" + p.group
}

func (p place) machine() string {
	return p.groupPath() + "/providers/Contoso.Compute/virtualMachines/" + p.name
}

// carol may do everything in the group home, and in the group closed with one deployment.
var carol = harness.Token{Raw: "carol-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a3", Name: "carol"}

// tight is a subscription with room for few writes of a caller at once.
const tight = "00000000-0000-0000-0000-0000000000e3"

// tightCallers each have their own share of what tight has room for.
func tightCaller(i int) harness.Token {
	return harness.Token{Raw: fmt.Sprint("tight-token-", i), TenantID: harness.TenantID, ObjectID: fmt.Sprintf("00000000-0000-0000-0000-0000000001%02d", i), Name: "tight"}
}

const (
	tightWrites  = 8
	tightDeletes = 4
	moreThanFit  = 24 // writes of one deployment or batch
)

func admissionWorld(t *testing.T, postgres string) *harness.World {
	t.Helper()
	tokens := []harness.Token{alice, bob, carol}
	owners := []string{alice.ObjectID, bob.ObjectID}
	for i := range 2 * len(ways()) {
		tokens, owners = append(tokens, tightCaller(i)), append(owners, tightCaller(i).ObjectID)
	}
	groups := "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/"
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Postgres: postgres, Tokens: tokens, Owners: owners, OwnersAt: map[string][]string{carol.ObjectID: {groups + "home", groups + "closed/providers/Microsoft.Resources/deployments/d"}},
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "A", State: "Enabled"},
			{ID: tight, TenantID: harness.TenantID, DisplayName: "Tight", State: "Enabled"},
			{ID: subscriptionB, TenantID: tenantB, DisplayName: "B", State: "Enabled"},
		},
		Extra: strings.Replace(batchSettings, "batch: {atOnce: 4}", "batch: {atOnce: 4, immediate: 1}", 1) +
			fmt.Sprintf("throttle: {subscriptions: [{id: %s, writes: {bucket: %d, perSecond: 1}, deletes: {bucket: %d, perSecond: 1}, subscriptionFactor: 1000}]}\n", tight, tightWrites, tightDeletes),
	}})
	for _, group := range []string{"home", "open", "closed", "locked", "pruned", "guarded"} {
		w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath(group) + "?api-version=2021-04-01", Body: `{"location":"westus"}`, Header: as(alice)}).Want(t, 201)
	}
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: place{subscriptionB, "open", ""}.groupPath() + "?api-version=2021-04-01", Body: `{"location":"westus"}`, Header: as(bob)}).Want(t, 201)
	for _, group := range []string{"open", "pruned"} {
		put(t, w, alice, place{tight, group, ""}.groupPath()+"?api-version=2021-04-01", `{"location":"westus"}`).Want(t, 201)
	}
	for _, path := range []string{
		place{harness.SubscriptionID, "open", "kept"}.machine(), place{harness.SubscriptionID, "pruned", "x"}.machine(),
		place{harness.SubscriptionID, "guarded", "kept"}.machine(), place{harness.SubscriptionID, "closed", "x"}.machine(),
	} {
		put(t, w, alice, path+"?api-version="+harness.Version, machineBody).Want(t, 201)
	}
	for path, level := range map[string]string{
		place{harness.SubscriptionID, "open", "kept"}.machine(): "ReadOnly", place{harness.SubscriptionID, "guarded", "kept"}.machine(): "CanNotDelete", w.GroupPath("locked"): "ReadOnly",
	} {
		put(t, w, alice, path+"/providers/Microsoft.Authorization/locks/keep?api-version=2016-09-01", `{"properties":{"level":"`+level+`"}}`).Want(t, 201)
	}
	return w
}

// throttledRequests is how many writes and deletions the throttle has refused.
func throttledRequests(t *testing.T, w *harness.World) (n int) {
	t.Helper()
	for line := range strings.Lines(w.Portico.Metrics(t)) {
		if strings.HasPrefix(line, "portico_throttled_requests_total{") && !strings.Contains(line, `"read`) {
			value, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
			harness.OK(t, err)
			n += value
		}
	}
	return n
}

func requestURI(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	harness.OK(t, err)
	return u.RequestURI()
}

const objectClaim = "http://schemas.microsoft.com/identity/claims/objectidentifier"

const machineBody = `{"location":"westus","properties":{}}`

func put(t *testing.T, w *harness.World, who harness.Token, target, body string) harness.Answer {
	t.Helper()
	return w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: target, Body: body, Header: as(who)})
}

// way is a way by which a write comes to the gateway: what a caller sends, with so many writes
// in it, and what became of that in the end, as text.
type way struct {
	name string
	send func(t *testing.T, w *harness.World, who harness.Token, at place, writes int) string
	// Nothing forbids the write at control; at locked a lock does, and named is no name.
	control, locked, named place
	action                 string // of the event that the write leaves
	// without are the guards that have nothing to ask, with the reason.
	without map[string]string
}

func ways() []way {
	open := func(name string) place { return place{harness.SubscriptionID, "open", name} }
	const writeMachine, own = "Contoso.Compute/virtualMachines/write", harness.SubscriptionID
	return []way{
		{name: "a client's PUT", send: sendByClient, control: open("client"), locked: open("kept"), named: open("50%"), action: writeMachine},
		{name: "an element of a batch", send: sendInBatch, control: open("element"), locked: open("kept"), named: open("50%"), action: writeMachine},
		{name: "an element of a long batch", send: sendInBatchJob, control: open("job"), locked: open("kept"), named: open("50%"), action: writeMachine},
		{name: "a step of a deployment", send: sendByStep, control: open("step"), locked: open("kept"), named: open("50%"), action: writeMachine},
		{name: "a nested deployment", send: sendNested, control: open("nested"), locked: place{own, "locked", "nested"}, named: open("a."), action: "Microsoft.Resources/deployments/write"},
		{name: "a removal by a deployment", send: sendRemoval, control: place{own, "pruned", "x"}, locked: place{own, "guarded", "kept"}, action: "Contoso.Compute/virtualMachines/delete",
			without: map[string]string{"tenant": "it deletes in the deployment's own group", "name": "it deletes what is there"}},
		{name: "the deletion of a group", send: sendGroupDeletion, control: place{own, "home", ""}, locked: place{own, "locked", ""}, named: place{own, "50%25", ""}, action: "Microsoft.Resources/subscriptions/resourceGroups/delete"},
	}
}

func sendByClient(t *testing.T, w *harness.World, who harness.Token, at place, writes int) (said string) {
	t.Helper()
	for range writes {
		said += string(put(t, w, who, escaped(at.machine())+"?api-version="+harness.Version, machineBody).Body)
	}
	return said
}

// escaped is an ID as a path.
func escaped(id string) string { return strings.ReplaceAll(id, "%", "%25") }

func elements(at place, writes int) (all []string) {
	for range writes {
		all = append(all, fmt.Sprintf(`{"httpMethod": "PUT", "url": %q, "content": %s}`, escaped(at.machine())+"?api-version="+harness.Version, machineBody))
	}
	return all
}

func sendInBatch(t *testing.T, w *harness.World, who harness.Token, at place, writes int) (said string) {
	t.Helper()
	for _, element := range elements(at, writes) { // the settings answer one at once
		said += string(postBatch(t, w, who, element).Want(t, 200).Body)
	}
	return said
}

func postBatch(t *testing.T, w *harness.World, who harness.Token, elements ...string) harness.Answer {
	t.Helper()
	return w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: "/batch?api-version=2020-06-01", Body: `{"requests": [` + strings.Join(elements, ", ") + `]}`, Header: as(who)})
}

func sendInBatchJob(t *testing.T, w *harness.World, who harness.Token, at place, writes int) string {
	t.Helper()
	read := fmt.Sprintf(`{"httpMethod": "GET", "url": %q}`, at.groupPath()+"?api-version=2021-04-01")
	a := postBatch(t, w, who, append(elements(at, writes), read)...).Want(t, 202)
	return eventually(t, "the answers of a batch", func() (string, bool) {
		polled := w.Portico.Do(t, harness.Request{Path: requestURI(t, a.Header.Get("Location")), Header: as(who)}).Want(t, 200, 202)
		return string(polled.Body), polled.Status == 200
	})
}

// deployTo deploys resources, and returns how that ended, or the refusal.
func deployTo(t *testing.T, w *harness.World, who harness.Token, subscription, group, mode string, resources ...string) string {
	t.Helper()
	name := "d"
	if subscription == tight { // it is canceled, and its end not awaited
		name = "of-" + who.ObjectID
	}
	path := place{subscription, group, ""}.groupPath() + "/providers/Microsoft.Resources/deployments/" + name
	body := `{"properties": {"mode": "` + mode + `", "validationLevel": "Template", "template": {` + templateSchema + `, "resources": [` + strings.Join(resources, ", ") + `]}}}`
	a := put(t, w, who, path+"?api-version=2021-04-01", body)
	if a.Status >= 300 {
		return string(a.Body)
	}
	throttled := throttledRequests(t, w)
	return eventually(t, "the end of a deployment", func() (string, bool) {
		status := string(w.Portico.Do(t, harness.Request{Path: requestURI(t, a.Header.Get("Azure-AsyncOperation")), Header: as(who)}).Want(t, 200).Body)
		if subscription == tight && throttledRequests(t, w) > throttled {
			w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: path + "/cancel?api-version=2021-04-01", Header: as(alice)}).Want(t, 204)
			return "", true
		}
		return status, !strings.Contains(status, `"status":"Running"`) && !strings.Contains(status, `"status":"Accepted"`)
	})
}

func sendByStep(t *testing.T, w *harness.World, who harness.Token, at place, writes int) string {
	t.Helper()
	if at.subscription == subscriptionB { // what is attached alone may lie elsewhere
		return deployTo(t, w, who, harness.SubscriptionID, "home", "Incremental",
			`{"type": "Microsoft.Authorization/locks", "apiVersion": "2016-09-01", "name": "l", "scope": "`+at.groupPath()+`", "properties": {"level": "CanNotDelete"}}`)
	}
	var resources []string
	for i := range writes {
		name := at.name
		if writes > 1 {
			name += fmt.Sprint(i)
		}
		resources = append(resources, fmt.Sprintf(`{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": %q, "location": "westus", "properties": {}}`, name))
	}
	return deployTo(t, w, who, at.subscription, at.group, "Incremental", resources...)
}

func sendNested(t *testing.T, w *harness.World, who harness.Token, at place, writes int) string {
	t.Helper()
	var resources []string
	for i := range writes {
		name := at.name
		if writes > 1 {
			name += fmt.Sprint(i)
		}
		resources = append(resources, fmt.Sprintf(`{"type": "Microsoft.Resources/deployments", "apiVersion": "2021-04-01", "name": %q, "subscriptionId": %q, "resourceGroup": %q, "properties": {"mode": "Incremental", "template": {%s, "resources": []}}}`,
			name, at.subscription, at.group, templateSchema))
	}
	from := place{harness.SubscriptionID, "home", ""}
	if at.subscription == tight {
		from = at
	}
	return deployTo(t, w, who, from.subscription, from.group, "Incremental", resources...)
}

func sendRemoval(t *testing.T, w *harness.World, who harness.Token, at place, writes int) string {
	t.Helper()
	for i := range min(writes-1, 3*tightDeletes) {
		put(t, w, tightCaller(len(ways())+i/tightDeletes), fmt.Sprintf("%s%d?api-version=%s", at.machine(), i, harness.Version), machineBody).Want(t, 201)
	}
	return deployTo(t, w, who, at.subscription, at.group, "Complete")
}

func sendGroupDeletion(t *testing.T, w *harness.World, who harness.Token, at place, writes int) (said string) {
	t.Helper()
	for range writes {
		a := w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: at.groupPath() + "?api-version=2021-04-01", Header: as(who)})
		said += string(a.Body)
	}
	return said
}

// Whatever begins work goes through the same admission, by whichever way it comes: its
// tenant, the locks, the names, its caller's roles and limits are asked about, and it
// leaves an event. Each way has a control, in which nothing refuses the same write.
func TestAllWaysGoThroughOneAdmission(t *testing.T) {
	t.Parallel()
	engines := map[string]func(t *testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return harness.StartPostgres(t).CreateDatabase(t, "portico") },
	}
	for engine, dsn := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := admissionWorld(t, dsn(t))
			for i, of := range ways() {
				t.Run(of.name, func(t *testing.T) { walkAdmission(t, w, of, tightCaller(i)) })
			}
		})
	}
}

func walkAdmission(t *testing.T, w *harness.World, of way, busy harness.Token) {
	t.Helper()
	refused := func(guard, code string, who harness.Token, at place) {
		t.Helper()
		if of.without[guard] != "" {
			return
		}
		if said := of.send(t, w, who, at, 1); !strings.Contains(said, code) {
			t.Errorf("%s: %s", guard, said)
		}
	}
	refused("lock", "ScopeLocked", alice, of.locked)
	refused("tenant", "SubscriptionNotFound", alice, place{subscriptionB, "open", "x"})
	refused("name", "nvalid", alice, of.named)
	refused("role", "AuthorizationFailed", carol, place{harness.SubscriptionID, "closed", "x"})

	throttled := throttledRequests(t, w)
	of.send(t, w, busy, place{tight, of.control.group, "busy"}, moreThanFit)
	if throttledRequests(t, w) == throttled {
		t.Error("throttle: nothing was refused")
	}
	if said := of.send(t, w, alice, of.control, 1); strings.Contains(said, `"error"`) {
		t.Errorf("the control was refused: %s", said)
	}
	soon(t, "an event of its caller", func() bool {
		return slices.ContainsFunc(story(t, w, alice, ""), func(e activityEvent) bool {
			return strings.EqualFold(e.OperationName.Value, of.action) && strings.Contains(strings.ToLower(e.ResourceID), strings.ToLower(of.control.groupPath())) && e.Claims[objectClaim] == alice.ObjectID
		})
	})
}
