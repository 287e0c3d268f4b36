package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// onlyOne has one machine, and two that false conditions leave out: one of these is known
// only once the machine is there. %s is a region.
const onlyOne = `{"properties": {"mode": "Complete", "template": {
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "resources": [
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "%[1]s", "properties": {}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "off", "condition": false, "location": "%[1]s", "properties": {}},
    {"type": "Microsoft.Resources/deployments", "apiVersion": "2021-04-01", "name": "inner", "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"},
      "parameters": {"wanted": {"value": "[equals(reference(resourceId('Contoso.Compute/virtualMachines', 'a')).provisioningState, 'Gone')]"}}, "template": {
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "parameters": {"wanted": {"type": "bool"}},
        "resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "late", "condition": "[parameters('wanted')]", "location": "%[1]s", "properties": {}}]}}}
  ]}}}`

// deletions are the names of the resources that a deployment deleted, with their states.
func deletions(t *testing.T, w *harness.World, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, o := range deploymentOperations(t, w, name) {
		if o.Properties.ProvisioningOperation == "Delete" {
			found[o.Properties.TargetResource.ResourceName] = o.Properties.ProvisioningState
		}
	}
	return found
}

type deploymentOperation struct {
	Properties struct {
		ProvisioningOperation, ProvisioningState, StatusCode string
		TargetResource                                       struct{ ID, ResourceName, ResourceType string }
		StatusMessage                                        struct {
			Error struct{ Code, Message string }
		}
	}
}

func deploymentOperations(t *testing.T, w *harness.World, name string) []deploymentOperation {
	t.Helper()
	a := w.Portico.Do(t, harness.Request{Path: deploymentPath(w, name) + "/operations?api-version=2021-04-01"}).Want(t, 200)
	var list struct{ Value []deploymentOperation }
	harness.OK(t, json.Unmarshal(a.Body, &list))
	return list.Value
}

func lockMachine(t *testing.T, w *harness.World, method, name string) {
	t.Helper()
	a := w.Portico.Do(t, harness.Request{
		Method: method, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+name) + "/providers/Microsoft.Authorization/locks/keep?api-version=2016-09-01",
		Body: `{"properties":{"level":"CanNotDelete"}}`,
	})
	if a.Status >= 300 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// foretold are the last two segments of what a what-if deletes.
func foretold(t *testing.T, w *harness.World, body string) (names []string) {
	t.Helper()
	var result struct {
		Properties struct {
			Changes []struct{ ResourceID, ChangeType string }
		}
	}
	a := w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/whatIf?api-version=2021-04-01", Body: body}).Want(t, 200)
	harness.OK(t, json.Unmarshal(a.Body, &result))
	for _, c := range result.Properties.Changes {
		if c.ChangeType == "Delete" {
			names = append(names, lastTwo(strings.ToLower(c.ResourceID)))
		}
	}
	slices.Sort(names)
	return names
}

func lastTwo(id string) string {
	segments := strings.Split(id, "/")
	return strings.Join(segments[len(segments)-2:], "/")
}

// standing are the last two segments of what the providers hold of a group.
func standing(t *testing.T, w *harness.World) (names []string) {
	t.Helper()
	for _, id := range remainingResources(t, w, "rg") {
		names = append(names, lastTwo(id))
	}
	slices.Sort(names)
	return names
}

// In complete mode, what the group holds besides is deleted, in the order in which its
// providers let it go; not what is managed, and not what a lock keeps.
func TestDeploymentInCompleteMode(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	regions := harness.RegionNames()
	fill(t, w, "rg", map[string]string{
		"Contoso.Compute/virtualMachines/off": regions[0], "Contoso.Compute/virtualMachines/late": regions[0], "Contoso.Compute/virtualMachines/user": regions[1], "Contoso.Compute/virtualMachines/used": regions[2],
		"Contoso.Compute/virtualMachines/locked": regions[2], "Contoso.Insight/workspaces/w": regions[1],
	})
	fill(t, w, "rg", map[string]string{"Contoso.Compute/networkInterfaces/n": regions[2], "Contoso.Compute/virtualMachines/above": regions[1]})
	for _, child := range []string{"virtualMachines/used/disks/d", "networkInterfaces/n/ipConfigurations/i", "virtualMachines/above/disks/managed"} {
		more := ""
		if strings.HasSuffix(child, "managed") {
			more = `"managedBy": "` + w.ResourcePath("rg", "Contoso.Compute/virtualMachines/a") + `", `
		}
		w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", "Contoso.Compute/"+child) + "?api-version=" + harness.Version, Body: "{" + more + `"properties":{}}`}).Want(t, 201)
	}
	owner := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/a")
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/managed") + "?api-version=" + harness.Version,
		Body: fmt.Sprintf(`{"location":%q,"managedBy":%q,"properties":{}}`, regions[0], owner),
	}).Want(t, 201)
	lockMachine(t, w, http.MethodPut, "locked")
	misbehave(t, w, "DELETE", "/virtualMachines/used", "refuse-until="+w.ResourcePath("rg", "Contoso.Compute/virtualMachines/user"), -1)
	misbehave(t, w, "DELETE", "/workspaces/w", "async-fails=location", 1)
	body := fmt.Sprintf(onlyOne, regions[0])
	goes := []string{"disks/d", "ipconfigurations/i", "networkinterfaces/n", "virtualmachines/locked", "virtualmachines/off", "virtualmachines/used", "virtualmachines/user", "workspaces/w"}
	if got := foretold(t, w, body); !slices.Equal(got, goes) {
		t.Errorf("what-if deletes %v", got)
	}

	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", body, 201))
	if end != "Failed" || !strings.Contains(string(d.Properties.Error), "ScopeLocked") || strings.Count(string(d.Properties.Error), `"target"`) != 2 {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
	stay := []string{"disks/managed", "virtualmachines/a", "virtualmachines/above", "virtualmachines/managed"}
	if got, want := standing(t, w), slices.Insert(slices.Clone(stay), 3, "virtualmachines/locked"); !slices.Equal(got, want) {
		t.Errorf("%v stand", got)
	}
	if got := deletions(t, w, "d"); fmt.Sprint(got) != "map[late:Succeeded locked:Failed n:Succeeded n/i:Succeeded off:Succeeded used:Succeeded user:Succeeded w:Succeeded]" {
		t.Error(got)
	}

	lockMachine(t, w, http.MethodDelete, "locked")
	end, d = deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", body, 200))
	if got := deletions(t, w, "d"); end != "Succeeded" || fmt.Sprint(got) != "map[locked:Succeeded]" {
		t.Errorf("%s: %s %v", end, d.Properties.Error, got)
	}
	if got := standing(t, w); !slices.Equal(got, stay) {
		t.Errorf("%v stand", got)
	}
}

// A deployment in complete mode whose steps have failed deletes nothing.
func TestDeploymentInCompleteModeThatFails(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	regions := harness.RegionNames()
	fill(t, w, "rg", map[string]string{"Contoso.Compute/virtualMachines/stays": regions[1]})
	misbehave(t, w, "PUT", "/virtualMachines/a", "status=400", -1)
	end, _ := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", fmt.Sprintf(onlyOne, regions[0]), 201))
	if got := standing(t, w); end != "Failed" || !slices.Equal(got, []string{"virtualmachines/stays"}) {
		t.Errorf("%s: %v stand", end, got)
	}
	if got := deletions(t, w, "d"); len(got) > 0 {
		t.Error(got)
	}
}

// What stands before a provider says nothing of what is to be deleted.
func TestDeploymentInCompleteModeIsAnsweredByOthers(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	regions := harness.RegionNames()
	faults := map[string]string{"page": "html", "route": "not-found=page", "group": "not-found=ResourceGroupNotFound", "away": "status=503"}
	resources := map[string]string{}
	for name := range faults {
		resources["Contoso.Compute/virtualMachines/"+name] = regions[1]
	}
	fill(t, w, "rg", resources)
	for name, fault := range faults {
		misbehave(t, w, "DELETE", "/virtualMachines/"+name, fault, 2)
	}
	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", fmt.Sprintf(onlyOne, regions[0]), 201))
	if got := standing(t, w); end != "Succeeded" || !slices.Equal(got, []string{"virtualmachines/a"}) {
		t.Errorf("%s: %s: %v stand", end, d.Properties.Error, got)
	}
	if got := deletions(t, w, "d"); fmt.Sprint(got) != "map[away:Succeeded group:Succeeded page:Succeeded route:Succeeded]" {
		t.Error(got)
	}
}

// A region that is away for longer than a resource's budget of failures is waited for.
func TestDeploymentInCompleteModeWaitsForARegion(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings + "deployments: {transientBudget: 100ms}\n"}})
	regions := harness.RegionNames()
	fill(t, w, "rg", map[string]string{"Contoso.Compute/virtualMachines/x": regions[1]})
	misbehave(t, w, "DELETE", "/virtualMachines/x", "status=503", 4)
	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", fmt.Sprintf(onlyOne, regions[0]), 201))
	if got := standing(t, w); end != "Succeeded" || !slices.Equal(got, []string{"virtualmachines/a"}) {
		t.Errorf("%s: %s: %v stand", end, d.Properties.Error, got)
	}
}

// A region that the map lacks is waited for until the map has it again, as one that does not
// answer.
func TestDeploymentInCompleteModeWaitsForARegionThatTheMapLacks(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	regions := harness.RegionNames()
	fill(t, w, "rg", map[string]string{"Contoso.Compute/virtualMachines/x": regions[1], "Contoso.Compute/virtualMachines/y": regions[2]})
	without := w.Config
	without.Endpoints = maps.Clone(without.Endpoints)
	delete(without.Endpoints, regions[1])
	w.Portico.Write(t, w.Portico.Text(t, without))
	reload(t, w.Portico).Want(t, 200)
	poll := putDeployment(t, w, w.Portico, "d", fmt.Sprintf(onlyOne, regions[0]), 201)
	soon(t, "the deletion to say what it waits for", func() bool {
		return slices.ContainsFunc(deploymentOperations(t, w, "d"), func(o deploymentOperation) bool {
			return o.Properties.TargetResource.ResourceName == "x" && o.Properties.StatusMessage.Error.Code == "NoRegisteredProviderFound"
		}) && deletions(t, w, "d")["y"] == "Succeeded"
	})
	w.Portico.Write(t, w.Portico.Text(t, w.Config))
	reload(t, w.Portico).Want(t, 200)
	end, d := deployed(t, w, w.Portico, "d", poll)
	if got := standing(t, w); end != "Succeeded" || !slices.Equal(got, []string{"virtualmachines/a"}) {
		t.Errorf("%s: %s: %v stand", end, d.Properties.Error, got)
	}
}

// Deletions go on after a kill, and what is created meanwhile stays.
func TestDeploymentInCompleteModeOutlivesAKill(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings + "deployments: {perDeployment: 1}\n"}})
	regions := harness.RegionNames()
	resources := map[string]string{}
	for i := range 6 {
		resources[fmt.Sprintf("Contoso.Compute/virtualMachines/x-%d", i)] = regions[i%3]
	}
	fill(t, w, "rg", resources)
	misbehave(t, w, "DELETE", "/virtualMachines/x-", "slow=200ms", -1)
	poll := putDeployment(t, w, w.Portico, "d", fmt.Sprintf(onlyOne, regions[0]), 201)
	for round := range 2 {
		soon(t, "a part of the deletions", func() bool { return len(standing(t, w)) < 6-2*round })
		w.Portico.Kill(t)
		w.Portico.Restart(t)
	}
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/new") + "?api-version=" + harness.Version, Body: body(regions[1]),
	}).Want(t, 201)
	end, d := deployed(t, w, w.Portico, "d", poll)
	if got := standing(t, w); end != "Succeeded" || !slices.Equal(got, []string{"virtualmachines/a", "virtualmachines/new"}) {
		t.Errorf("%s: %s: %v stand", end, d.Properties.Error, got)
	}
	if got := deletions(t, w, "d"); len(got) != 6 {
		t.Error(got)
	}
}

// A cancellation deletes nothing further, and what is being deleted is seen to its end.
func TestDeploymentInCompleteModeIsCancelled(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings + "deployments: {perDeployment: 1}\n"}})
	regions := harness.RegionNames()
	fill(t, w, "rg", map[string]string{"Contoso.Compute/virtualMachines/x-0": regions[1], "Contoso.Compute/virtualMachines/x-1": regions[1]})
	misbehave(t, w, "DELETE", "/virtualMachines/x-", "delay=1s", -1)
	poll := putDeployment(t, w, w.Portico, "d", fmt.Sprintf(onlyOne, regions[0]), 201)
	soon(t, "a deletion", func() bool { return len(deletions(t, w, "d")) > 0 })
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/cancel?api-version=2021-04-01"}).Want(t, 204)
	end, _ := deployed(t, w, w.Portico, "d", poll)
	if got := standing(t, w); end != "Canceled" || !slices.Equal(got, []string{"virtualmachines/a", "virtualmachines/x-1"}) {
		t.Errorf("%s: %v stand", end, got)
	}
	if got := deletions(t, w, "d"); fmt.Sprint(got) != "map[x-0:Succeeded]" {
		t.Error(got)
	}
}

// A caller who may write and not delete deletes nothing, also in complete mode.
func TestDeploymentInCompleteModeAsksForTheRightToDelete(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings, Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID}}})
	regions := harness.RegionNames()
	fill(t, w, "rg", map[string]string{"Contoso.Compute/virtualMachines/stays": regions[1]})
	const writer = "00000000-0000-0000-0000-00000000d01a"
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.SubscriptionPath() + "/providers/Microsoft.Authorization/roleDefinitions/" + writer + "?api-version=2022-04-01",
		Body: fmt.Sprintf(`{"properties":{"roleName":"Writer","type":"CustomRole","assignableScopes":[%q],"permissions":[{"actions":["*"],"notActions":["*/delete"]}]}}`, w.SubscriptionPath()),
	}).Want(t, 201)
	role(t, w.Portico, w.GroupPath("rg"), "00000000-0000-0000-0000-000000000001", writer)
	a := w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Body: fmt.Sprintf(onlyOne, regions[0]), Header: harness.Header("Authorization", "Bearer "+dora.Raw),
	}).Want(t, 201)
	var d deployment
	eventually(t, "the end of a deployment", func() (string, bool) {
		a = w.Portico.Do(t, harness.Request{Path: deploymentPath(w, "d") + "?api-version=2021-04-01"}).Want(t, 200)
		harness.OK(t, json.Unmarshal(a.Body, &d))
		return "", d.Properties.ProvisioningState != "Running"
	})
	if !strings.Contains(string(d.Properties.Error), "AuthorizationFailed") || !strings.Contains(string(d.Properties.Error), "virtualMachines/delete") {
		t.Errorf("%s", a.Body)
	}
	if got := standing(t, w); !slices.Equal(got, []string{"virtualmachines/a", "virtualmachines/stays"}) {
		t.Errorf("%v stand", got)
	}
}

// What the caller may neither delete nor read is not named to anybody by a deployment in
// complete mode: it stays, and is counted.
func TestDeploymentInCompleteModeNamesOnlyWhatItsCallerMay(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings, Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID}}})
	regions := harness.RegionNames()
	fill(t, w, "rg", map[string]string{
		"Contoso.Compute/virtualMachines/read": regions[1], "Contoso.Compute/virtualMachines/deleted": regions[0],
		"Contoso.Compute/virtualMachines/unseen-a": regions[1], "Contoso.Insight/workspaces/unseen-b": regions[0],
	})
	for i, c := range []struct{ scope, actions string }{
		{w.GroupPath("rg"), `"Microsoft.Resources/deployments/*"`},
		{w.ResourcePath("rg", "Contoso.Compute/virtualMachines/read"), `"*/read"`},
		{w.ResourcePath("rg", "Contoso.Compute/virtualMachines/deleted"), `"*/delete"`},
	} {
		id := fmt.Sprintf("00000000-0000-0000-0000-00000000d02%d", i)
		w.Portico.Do(t, harness.Request{
			Method: http.MethodPut, Path: w.SubscriptionPath() + "/providers/Microsoft.Authorization/roleDefinitions/" + id + "?api-version=2022-04-01",
			Body: fmt.Sprintf(`{"properties":{"roleName":%q,"type":"CustomRole","assignableScopes":[%q],"permissions":[{"actions":[%s]}]}}`, id, w.SubscriptionPath(), c.actions),
		}).Want(t, 201)
		role(t, w.Portico, c.scope, id, id)
	}
	begin := harness.Request{
		Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Header: as(dora),
		Body: `{"properties": {"mode": "Complete", "template": {"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": []}}}`,
	}
	harness.Await(t, roleBound, "dora deploys", func() bool { return w.Portico.Do(t, begin).Status == 201 })
	end, d := endOf(t, w, "d")
	fault := string(d.Properties.Error)
	if end != "Failed" || !strings.Contains(fault, "virtualMachines/read") || !strings.Contains(fault, "may neither delete nor read 2.") {
		t.Errorf("%s: %s", end, fault)
	}
	if got := deletions(t, w, "d"); fmt.Sprint(got) != "map[deleted:Succeeded read:Failed]" {
		t.Error(got)
	}
	if got := standing(t, w); !slices.Equal(got, []string{"virtualmachines/read", "virtualmachines/unseen-a", "workspaces/unseen-b"}) {
		t.Errorf("%v stand", got)
	}
	whatIf := begin
	whatIf.Method, whatIf.Path = http.MethodPost, deploymentPath(w, "d")+"/whatIf?api-version=2021-04-01"
	for _, text := range []string{
		string(w.Portico.Do(t, harness.Request{Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Header: as(dora)}).Want(t, 200).Body),
		string(w.Portico.Do(t, harness.Request{Path: deploymentPath(w, "d") + "/operations?api-version=2021-04-01", Header: as(dora)}).Want(t, 200).Body),
		string(w.Portico.Do(t, whatIf).Body),
	} {
		if strings.Contains(text, "unseen") {
			t.Errorf("it names what its caller may not read: %s", text)
		}
	}
}
