package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/arm"
	"portico/inventory"
	"portico/routing"
)

// lockable are requests of every class that has writes, in a group of its own: a
// subscription {s}, a group {g} in it and a machine {m} there. What no method of a
// request can do is refused for that anyway.
var lockable = []struct{ path, api, content string }{
	{"{g}", own, westus},
	{"{g}/moveResources", own, `{"targetResourceGroup":"{s}/resourceGroups/to","resources":["{m}"]}`},
	{"{g}/validateMoveResources", own, `{"targetResourceGroup":"{s}/resourceGroups/to","resources":["{m}"]}`},
	{"{s}/tagNames/t", own, ``},
	{"{s}/providers/Contoso.Insight/register", own, ``},
	{"{s}/providers/Contoso.Compute/unregister", own, ``},
	{"{s}/providers/Microsoft.Features/providers/Contoso.Compute/features/f/register", own, ``},
	{"{s}/providers/Microsoft.Resources/checkResourceName", own, `{"name":"n","type":"t"}`},
	{"{s}/providers/Microsoft.Resources/tags/default", own, `{"properties":{"tags":{"a":"b"}}}`},
	{"{g}/providers/Microsoft.Resources/tags/default", own, `{"properties":{"tags":{"a":"b"}}}`},
	{"{m}/providers/Microsoft.Resources/tags/default", own, `{"properties":{"tags":{"a":"b"}}}`},

	{"{m}", api, eastus},
	{"{m}2", api, eastus},
	{"{m}/disks/d", api, `{}`},
	{"{m}/runCommands/r", api, `{}`},
	{"{s}/providers/Contoso.Insight/diagnosticSettings/e", api, `{}`},
	{"{g}/providers/Contoso.Insight/diagnosticSettings/e", api, `{}`},
	{"{m}/providers/Contoso.Insight/diagnosticSettings/e", api, `{}`},
	{"{m}/disks/d/providers/Contoso.Insight/annotations/a", api, `{}`},

	{"{m}/runCommands", api, `{}`},
	{"{s}/providers/Contoso.Insight/diagnosticSettings", api, `{}`},
	{"{s}/providers/Contoso.Compute/virtualMachines", api, `{}`},

	{"{m}/start", api, ``},
	{"{m}/disks/d/grow", api, `{}`},
	{"{m}/providers/Contoso.Insight/diagnosticSettings/e/reset", api, ``},

	{"{s}/providers/Contoso.Compute/checkNameAvailability", api, `{"name":"n"}`},
	{"{g}/providers/Contoso.Compute/checkNameAvailability", api, `{"name":"n"}`},

	{"{s}/providers/Contoso.Compute/locations/westus/checkNameAvailability", api, `{"name":"n"}`},
	{"{s}/providers/Contoso.Compute/locations/westus/quotas/q", api, `{}`},
	{"{s}/providers/Contoso.Compute/locations/eastus/quotas/q/parts/p", api, `{}`},
	{"{s}/providers/Contoso.Compute/locations/westus/operationResults/o", api, `{}`},
	{"{m}/operationResults/o", api, `{}`},
	{"{g}/providers", api, `{}`},
}

// lockScopes are the scopes that are locked in turn.
var lockScopes = []string{
	"{s}", "{g}", "{m}", "{m}/disks/d", "{m}/runCommands/r", "{m}/providers/Contoso.Insight/diagnosticSettings/e",
	"{s}/providers/Contoso.Insight/diagnosticSettings/e",
}

// lockWorld is a site in which requests are tried against locks.
type lockWorld struct {
	*site
	groups int // made so far
}

// newNames creates a new group with a machine and its children, and returns their names.
func (w *lockWorld) newNames() *strings.Replacer {
	w.t.Helper()
	group, name := fmt.Sprintf("g%d", w.groups), fmt.Sprintf("m%d", w.groups%10)
	w.groups++
	w.group(group)
	m := w.machine(group, name, "eastus")
	for _, below := range []string{"/disks/d", "/runCommands/r", "/providers/Contoso.Insight/diagnosticSettings/e"} {
		w.ok(201, "PUT", m+below+api, `{}`)
	}
	return strings.NewReplacer("{s}", inSubscription, "{g}", groupPath(group), "{m}", m)
}

// reached returns what of writes has reached a provider.
func (w *lockWorld) reached() (writes []string) {
	w.t.Helper()
	for _, e := range w.providers {
		for _, r := range e.requests() {
			notice := strings.EqualFold(r.Path, inSubscription)
			if r.Method != http.MethodGet && r.Method != http.MethodHead && !notice {
				writes = append(writes, r.Method+" "+r.Path)
			}
		}
	}
	return writes
}

// try sends request i, in one of the spellings of its path.
func (w *lockWorld) try(i int, method string, names *strings.Replacer, spelling int) seen {
	w.t.Helper()
	path, content := names.Replace(lockable[i].path), names.Replace(lockable[i].content)
	switch spelling {
	case 1:
		path = strings.ToUpper(path)
	case 2:
		path = strings.ReplaceAll(strings.ReplaceAll(path, "m", "%6D"), "o", "%6f")
	}
	switch {
	case method == http.MethodPatch && strings.Contains(content, `"properties"`):
		content = `{"operation":"Merge",` + content[1:]
	case method == http.MethodPatch:
		content = `{"tags":{}}`
	case method == http.MethodDelete || method == http.MethodGet || method == http.MethodHead:
		content = ""
	}
	return w.do(method, path+lockable[i].api, content)
}

// effective finds the requests that do something where no lock is above them, while
// all around is locked: a group and a machine with whose names theirs begin, and
// another subscription.
func (w *lockWorld) effective() map[string]bool {
	w.t.Helper()
	effective := map[string]bool{}
	for i, request := range lockable {
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete} {
			names := w.newNames()
			if strings.Contains(request.path, "{m}") {
				m := names.Replace("{m}")
				beside := m[:len(m)-1] // whose name m's begins with
				w.ok(201, "PUT", beside+api, eastus)
				w.ok(201, "PUT", beside+lockPlace+"/l"+own, readOnly)
			}
			w.reached()
			got := w.try(i, method, names, 0)
			if got.code == "ScopeLocked" {
				w.t.Errorf("%s %s without a lock above it: %s", method, request.path, got.text)
			}
			effective[method+" "+request.path] = got.status < 400 || len(w.reached()) > 0
			if got.status == http.StatusAccepted { // else its job's calls pass for the next request's
				w.end(got)
			}
		}
	}
	return effective
}

// A lock forbids what it forbids in requests of every class: to what it stands on
// and to all below, in each spelling, and before a provider hears of it. No lock
// concerns what lies beside it.
func TestLocksHoldForEveryClassOfRequest(t *testing.T) {
	w := &lockWorld{site: newSite(t, setup{limits: "groupsPerSubscription: 980"})}
	w.work()
	w.subscribe(secondSubscription, tenant, inventory.Enabled)
	w.ok(200, "POST", inSubscription+"/providers/Contoso.Insight/register"+own, "")
	w.ok(200, "POST", "/subscriptions/"+secondSubscription+"/providers/Contoso.Insight/register"+own, "")
	w.group("to")
	w.ok(201, "PUT", "/subscriptions/"+secondSubscription+lockPlace+"/l"+own, readOnly)
	w.group("g")
	w.ok(201, "PUT", groupPath("g")+lockPlace+"/l"+own, readOnly)
	effective := w.effective()

	classes := map[routing.Class]bool{}
	names := w.newNames()
	setting := inSubscription + "/providers/Contoso.Insight/diagnosticSettings/e"
	w.do("PUT", setting+api, `{}`)
	for _, scope := range lockScopes {
		for _, level := range inventory.LockLevels() {
			at := names.Replace(scope) + lockPlace + "/l" + own
			w.ok(201, "PUT", at, fmt.Sprintf(`{"properties":{"level":%q}}`, level))
			w.reached()
			for i, request := range lockable {
				path := names.Replace(request.path)
				above := strings.HasPrefix(arm.Fold(path)+"/", arm.Fold(names.Replace(scope))+"/")
				if !above {
					continue
				}
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete} {
					reads := method == http.MethodGet || method == http.MethodHead
					if !reads && method != http.MethodDelete && level != inventory.LockReadOnly {
						continue
					}
					for spelling := range 3 {
						got := w.try(i, method, names, spelling)
						name := fmt.Sprintf("%s %s under a %s lock on %s, spelling %d", method, request.path, level, scope, spelling)
						switch {
						case reads && (got.code == "ScopeLocked" || got.status >= 500):
							t.Errorf("%s: %d %s", name, got.status, got.text)
						case !reads && got.status < 400, !reads && effective[method+" "+request.path] && got.code != "ScopeLocked":
							t.Errorf("%s: %d %s", name, got.status, got.text)
						}
						if got.code == "ScopeLocked" {
							q, _ := routing.Classify(w.config.Map, method, path, "")
							classes[q.Class] = true
						}
					}
				}
			}
			if writes := w.reached(); len(writes) > 0 {
				t.Errorf("under a %s lock on %s reached a provider: %v", level, scope, writes)
			}
			w.ok(200, "DELETE", at, "")
		}
	}
	for _, class := range []routing.Class{routing.Own, routing.Instance, routing.Collection, routing.Below, routing.AtProvider, routing.Located} {
		if !classes[class] {
			t.Errorf("no request of the class %s was refused", class)
		}
	}
}
