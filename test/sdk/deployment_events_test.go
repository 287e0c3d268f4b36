package sdk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// deploymentEvent is an event of a deployment as consumers get it.
type deploymentEvent struct {
	ID, Type, Subject, Sequence string
	Data                        struct {
		OperationName, Status, ObjectID, CorrelationID, Job string
		Exists                                              *bool
	}
}

// receiver is a webhook that keeps the events that it gets, each once: one may come again.
type receiver struct {
	mu   sync.Mutex
	kept map[string]deploymentEvent // by their IDs
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var e deploymentEvent
	if err := json.NewDecoder(q.Body).Decode(&e); err != nil {
		return // the sender was killed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[e.ID] = e
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) all() []deploymentEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return inOrder(slices.Collect(maps.Values(r.kept)))
}

func inOrder(all []deploymentEvent) []deploymentEvent {
	number := func(e deploymentEvent) int {
		n, _ := strconv.Atoi(e.Sequence)
		return n
	}
	slices.SortFunc(all, func(a, b deploymentEvent) int { return cmp.Compare(number(a), number(b)) })
	return all
}

// lines are what events say: action, status, the object ID of the caller, and whether the deployment exists since.
func lines(all []deploymentEvent, of string) (said []string) {
	for _, e := range all {
		if !strings.EqualFold(e.Subject, of) {
			continue
		}
		exists := "-"
		if e.Data.Exists != nil {
			exists = strconv.FormatBool(*e.Data.Exists)
		}
		said = append(said, strings.TrimPrefix(e.Data.OperationName, "Microsoft.Resources/deployments/")+" "+e.Data.Status+" "+e.Data.ObjectID+" "+exists)
	}
	return said
}

// feed reads the change feed to its end, and returns the events of deployments.
func feed(t *testing.T, w *harness.World) (all []deploymentEvent) {
	t.Helper()
	for token, more := "", true; more; {
		var page struct {
			Value []deploymentEvent
			Next  string
		}
		harness.OK(t, json.Unmarshal(w.Portico.Admin(t, harness.Request{Path: "/admin/changes?limit=50&after=" + token}).Want(t, 200).Body, &page))
		for _, e := range page.Value {
			if strings.Contains(e.Subject, "/Microsoft.Resources/deployments/") {
				all = append(all, e)
			}
		}
		token, more = page.Next, len(page.Value) > 0
	}
	return all
}

// logLines are the activity log of a resource, the oldest first: action, status, the error's code, the caller. All events
// of a write must have the same ids.
func logLines(t *testing.T, w *harness.World, token harness.Token, id string) (said []string) {
	t.Helper()
	all := logOf(t, w, token, "resourceUri eq '"+id+"'", "")
	slices.Reverse(all)
	for _, e := range all {
		line := strings.TrimPrefix(value(e.OperationName.Value), "Microsoft.Resources/deployments/") + " " + value(e.Status.Value)
		if text := value(e.Properties["statusMessage"]); text != "" {
			var body struct{ Error struct{ Code string } }
			harness.OK(t, json.Unmarshal([]byte(text), &body))
			line += " " + body.Error.Code
			if strings.Contains(text, "hidden-word") || strings.Contains(text, "ContosoFault") {
				t.Errorf("an event of %s says %s", id, text)
			}
		}
		said = append(said, line+" "+value(e.Caller))
		if value(e.ResourceID) != id || value(e.Category.Value) != "Administrative" || value(e.ResourceType.Value) != "Microsoft.Resources/deployments" || value(e.CorrelationID) == "" || value(e.OperationID) == "" || value(e.HTTPRequest.Method) == "" {
			t.Errorf("%+v", *e)
		}
	}
	return said
}

func wantLines(t *testing.T, of string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("of %s\n%s\nwant\n%s", of, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// outerAndInner is a template whose nested deployment inner puts a machine into the group other.
const outerAndInner = `{` + templateHead + `, "parameters": {"inner": {"type": "string"}, "password": {"type": "secureString"}}, "resources": [
  {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "[parameters('inner')]", "resourceGroup": "other",
    "properties": {"mode": "Incremental", "template": {` + templateHead + `, "resources": [
      {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[parameters('inner')]", "location": "westus", "properties": {"adminPassword": "[parameters('password')]"}}]}}}]}`

// Each deployment, nested ones too, has events of who began it and how it ended, of who canceled it and of who deleted its
// record, each once: in the activity log, the feed and at a webhook. Whoever takes it over, they name its caller.
func TestDeploymentsAreEvents(t *testing.T) {
	t.Parallel()
	hook := &receiver{kept: map[string]deploymentEvent{}}
	server := httptest.NewServer(hook)
	t.Cleanup(server.Close)
	visitor := harness.Token{Raw: "a-token-of-a-visitor", TenantID: harness.TenantID, ObjectID: guid(0xc8), Name: "visitor@contoso.example"}
	w := newClients(t, harness.Config{Tokens: []harness.Token{guest, visitor}, Owners: []string{owner.ObjectID}, Extra: fmt.Sprintf(`index: {sendWithin: 4s, lateWriteWindow: 500ms, callMargin: 500ms, pollFloor: 50ms, askTimeout: 500ms}
upstream: {callTimeout: 6s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s}
jobs: {lease: 1s}
events:
  sinks:
    - {name: deployments, url: %q, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, backoff: 20ms, maxBackoff: 200ms, actions: ["Microsoft.Resources/deployments/*"]}
`, server.URL)}).World
	owns, guests := openDeployments(t, w, owner), openDeployments(t, w, guest)
	roles := openRoles(t, w, owner)
	for i, group := range []string{"rg", "other"} {
		owns.createGroup(t, group)
		roles.assign(t, w.GroupPath(group), guid(0x60+byte(i)), contributorRole, guest.ObjectID)
	}
	roles.assign(t, w.GroupPath("other"), guid(0x70), readerRole, visitor.ObjectID)
	harness.Await(t, endBound, "the guest's role", func() bool {
		_, err := guests.deployments.CheckExistence(t.Context(), "rg", "d", nil)
		return err == nil
	})
	template := templateOf(t, outerAndInner)
	with := func(inner string) armresources.Deployment {
		return deploying(template, map[string]any{"inner": map[string]any{"value": inner}, "password": map[string]any{"value": "hidden-word"}})
	}
	at := func(group, name string) string {
		return w.GroupPath(group) + "/providers/Microsoft.Resources/deployments/" + name
	}
	const correlation = "00000000-0000-0000-0000-0000000000d1"

	// One deploys, another one replaces it.
	ctx := withHeader(t, "x-ms-correlation-request-id", correlation, "x-ms-client-request-id", "my-own")
	first, err := owns.deployments.BeginCreateOrUpdate(ctx, "rg", "d", with("inner"), nil)
	harness.OK(t, err)
	finish(t, first)
	second, err := guests.deployments.BeginCreateOrUpdate(t.Context(), "rg", "d", with("inner"), nil)
	harness.OK(t, err)
	finish(t, second)

	// One fails.
	owns.misbehave(t, "status=409")
	failing, err := guests.deployments.BeginCreateOrUpdate(t.Context(), "rg", "failing", with("failed"), nil)
	harness.OK(t, err)
	if _, err := end(t, failing); err == nil {
		t.Error("a deployment of what its provider refuses succeeds")
	}

	// One is canceled by another caller.
	awaitTry := func() {
		t.Helper()
		harness.Await(t, endBound, "a try of the machine", func() bool {
			return slices.ContainsFunc(w.Contoso("westus").Requests(t), func(r harness.Received) bool { return r.Method == http.MethodPut })
		})
	}
	owns.misbehave(t, "status=503")
	canceled, err := owns.deployments.BeginCreateOrUpdate(t.Context(), "rg", "canceled", with("stopped"), nil)
	harness.OK(t, err)
	awaitTry()
	_, err = guests.deployments.Cancel(t.Context(), "rg", "canceled", nil)
	harness.OK(t, err)
	_, err = end(t, canceled)
	wantError(t, err, 200, "DeploymentCanceled")

	// One outlives the gateway.
	owns.misbehave(t, "status=503")
	killed, err := guests.deployments.BeginCreateOrUpdate(t.Context(), "rg", "killed", with("survived"), nil)
	harness.OK(t, err)
	awaitTry()
	w.Portico.Kill(t)
	w.Portico.Restart(t)
	w.Contoso("westus").Do(t, harness.Request{Method: http.MethodDelete, Path: "/contoso/faults"}).Want(t, 204)
	finish(t, killed)

	// The record of one is deleted.
	remove, err := owns.deployments.BeginDelete(t.Context(), "rg", "d", nil)
	harness.OK(t, err)
	finish(t, remove)

	fed := feed(t, w)
	awaitHook := func(id string, want []string) {
		t.Helper()
		harness.Await(t, endBound, "the events of "+id+" at the webhook", func() bool { return len(lines(hook.all(), id)) >= len(want) })
		wantLines(t, id+", the webhook gets", lines(hook.all(), id), want...)
	}
	for _, c := range []struct {
		id       string
		log, fed []string
	}{
		{at("rg", "d"), []string{"write Accepted O", "write Succeeded O", "write Accepted G", "write Succeeded G", "delete Succeeded O"}, []string{"-", "true", "-", "true", "false"}},
		{at("other", "inner"), []string{"write Accepted O", "write Succeeded O", "write Accepted G", "write Succeeded G"}, []string{"-", "true", "-", "true"}},
		{at("rg", "failing"), []string{"write Accepted G", "write Failed DeploymentFailed G"}, []string{"-", "true"}},
		{at("other", "failed"), []string{"write Accepted G", "write Failed DeploymentFailed G"}, []string{"-", "true"}},
		{at("rg", "canceled"), []string{"write Accepted O", "cancel/action Succeeded G", "write Canceled DeploymentCanceled O"}, []string{"-", "-", "true"}},
		{at("other", "stopped"), []string{"write Accepted O", "write Canceled DeploymentCanceled O"}, []string{"-", "true"}},
		{at("rg", "killed"), []string{"write Accepted G", "write Succeeded G"}, []string{"-", "true"}},
		{at("other", "survived"), []string{"write Accepted G", "write Succeeded G"}, []string{"-", "true"}},
	} {
		var inLog, inFeed []string
		for i, line := range c.log {
			words := strings.Fields(line)
			by := map[string]harness.Token{"O": owner, "G": guest}[words[len(words)-1]]
			inLog = append(inLog, strings.Join(words[:len(words)-1], " ")+" "+by.Name)
			inFeed = append(inFeed, strings.Join(words[:2], " ")+" "+by.ObjectID+" "+c.fed[i])
		}
		wantLines(t, c.id+", the log says", logLines(t, w, owner, c.id), inLog...)
		wantLines(t, c.id+", the feed says", lines(fed, c.id), inFeed...)
		awaitHook(c.id, inFeed)
	}
	for _, id := range []string{at("rg", "d"), at("other", "inner")} {
		of := logOf(t, w, owner, "resourceUri eq '"+id+"' and correlationId eq '"+correlation+"'", "")
		if len(of) != 2 {
			t.Fatalf("%d events of %s have the correlation id", len(of), id)
		}
		for _, e := range of {
			if value(e.HTTPRequest.ClientRequestID) != "my-own" || value(e.HTTPRequest.Method) != http.MethodPut || !strings.EqualFold(value(e.HTTPRequest.URI), id) || value(e.OperationID) != value(of[0].OperationID) {
				t.Errorf("%+v", *e.HTTPRequest)
			}
		}
	}
	for _, e := range fed {
		if e.Data.Status == "Canceled" && e.Type != "Microsoft.Resources.ResourceWriteCancel" {
			t.Errorf("the type of an event of a canceled deployment is %s", e.Type)
		}
	}

	// Each sees those of what it may read.
	harness.Await(t, endBound, "the visitor's role", func() bool { return len(logLines(t, w, visitor, at("other", "inner"))) > 0 })
	for id, n := range map[string]int{at("other", "inner"): 4, at("other", "survived"): 2, at("rg", "d"): 0, at("rg", "canceled"): 0} {
		if said := logLines(t, w, visitor, id); len(said) != n {
			t.Errorf("the visitor sees %d events of %s, want %d", len(said), id, n)
		}
	}
	history := w.Portico.Do(t, harness.Request{Path: at("rg", "d") + "/providers/Microsoft.Resources/changes?api-version=2022-05-01", Header: harness.Header("Authorization", "Bearer "+owner.Raw)}).Want(t, 200)
	var changes struct {
		Value []struct {
			Properties struct {
				ChangeType, Status string
				ChangeAttributes   struct{ ChangedBy string }
			}
		}
	}
	harness.OK(t, json.Unmarshal(history.Body, &changes))
	var said []string
	for _, c := range changes.Value {
		said = append(said, c.Properties.ChangeType+" "+c.Properties.Status+" "+c.Properties.ChangeAttributes.ChangedBy)
	}
	slices.Reverse(said)
	wantLines(t, "the deployment, its history says", said, "Create Accepted "+owner.Name, "Create Succeeded "+owner.Name, "Update Accepted "+guest.Name, "Update Succeeded "+guest.Name, "Delete Succeeded "+owner.Name)
}
