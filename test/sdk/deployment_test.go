package sdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// deploymentClients are the clients of one caller for deployments.
type deploymentClients struct {
	clients
	deployments *armresources.DeploymentsClient
	operations  *armresources.DeploymentOperationsClient
}

// newDeployments starts a world that does not wait long before it asks again, and whose
// first answers wait for no end.
func newDeployments(t *testing.T) deploymentClients {
	t.Helper()
	return deploymentsBy(t, "operations: {retryAfterMin: 1s, retryAfterMax: 1s, firstAnswer: 0s}")
}

func deploymentsBy(t *testing.T, operations string) deploymentClients {
	t.Helper()
	c := newClients(t, harness.Config{Extra: "index: {pollFloor: 50ms}\n" + operations})
	return openDeployments(t, c.World, owner)
}

// openDeployments makes the clients that present a token.
func openDeployments(t *testing.T, w *harness.World, token harness.Token) deploymentClients {
	t.Helper()
	c := deploymentClients{clients: open(t, w, token)}
	var err [2]error
	credential, options := staticToken(token.Raw), optionsFor(w)
	c.deployments, err[0] = armresources.NewDeploymentsClient(w.SubscriptionID, credential, options)
	c.operations, err[1] = armresources.NewDeploymentOperationsClient(w.SubscriptionID, credential, options)
	harness.OK(t, errors.Join(err[:]...))
	return c
}

// templateOf is what a template says, and deploying what a deployment of it is sent as.
func templateOf(t *testing.T, text string) (template map[string]any) {
	t.Helper()
	harness.OK(t, json.Unmarshal([]byte(text), &template))
	return template
}

func deploying(template any, parameters map[string]any) armresources.Deployment {
	return armresources.Deployment{Properties: &armresources.DeploymentProperties{
		Mode: to.Ptr(armresources.DeploymentModeIncremental), Template: template, Parameters: parameters,
	}}
}

const (
	templateHead = `"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0"`
	// twoMachines are two in different regions, one of which waits for the other.
	twoMachines = `{` + templateHead + `,
	  "parameters": {"size": {"type": "string"}, "password": {"type": "secureString"}},
	  "resources": [
	    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "b", "location": "eastus", "dependsOn": ["a"],
	      "properties": {"size": "[parameters('size')]", "adminPassword": "[parameters('password')]"}},
	    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "westus", "properties": {}}],
	  "outputs": {"size": {"type": "string", "value": "[reference('b').size]"}, "password": {"type": "secureString", "value": "[parameters('password')]"}}}`
)

// All that the SDK can do with deployments to a group, in the order in which people do it.
func TestDeploymentsToAGroup(t *testing.T) {
	t.Parallel()
	c := newDeployments(t)
	c.createGroup(t, "rg")
	ctx, template, id := t.Context(), templateOf(t, twoMachines), c.GroupPath("rg")+"/providers/Microsoft.Resources/deployments/"
	a, b := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/a"), c.ResourcePath("rg", "Contoso.Compute/virtualMachines/b")
	two := deploying(template, map[string]any{"size": map[string]any{"value": "large"}, "password": map[string]any{"value": "hidden-word"}})
	two.Tags = map[string]*string{"stage": to.Ptr("test")}

	// Before there is one.
	_, err := c.deployments.Get(ctx, "rg", "two", nil)
	wantError(t, err, 404, "DeploymentNotFound")
	wantDeployment := func(name string, want bool) {
		t.Helper()
		if got, err := c.deployments.CheckExistence(ctx, "rg", name, nil); err != nil || got.Success != want {
			t.Errorf("HEAD %s: %v, want %v (%v)", name, got.Success, want, err)
		}
	}
	wantDeployment("two", false)
	validation, err := c.deployments.BeginValidate(ctx, "rg", "two", two, nil)
	harness.OK(t, err)
	if valid := finish(t, validation); value(valid.Properties.ProvisioningState) != armresources.ProvisioningStateSucceeded || len(valid.Properties.ValidatedResources) != 2 || valid.Error != nil {
		t.Errorf("%+v", valid.Properties)
	}
	c.WantOnlyIn(t, "", a)

	var raw *http.Response
	create, err := c.deployments.BeginCreateOrUpdate(policy.WithCaptureResponse(ctx, &raw), "rg", "two", two, nil)
	harness.OK(t, err)
	if raw.StatusCode != 201 {
		t.Errorf("status %d", raw.StatusCode)
	}
	wantPollingURLs(t, c.clients, raw)
	wantTwo := func(got armresources.DeploymentExtended) {
		t.Helper()
		p := got.Properties
		if value(got.ID) != id+"two" || value(got.Name) != "two" || value(got.Type) != "Microsoft.Resources/deployments" || value(got.Tags["stage"]) != "test" || got.Location != nil ||
			*p.ProvisioningState != armresources.ProvisioningStateSucceeded || *p.Mode != armresources.DeploymentModeIncremental || value(p.TemplateHash) == "" || value(p.CorrelationID) == "" ||
			p.Timestamp == nil || !strings.HasPrefix(value(p.Duration), "PT") || p.Error != nil {
			t.Errorf("%+v %+v", got, p)
		}
		shown := any(map[string]any{"size": map[string]any{"type": "String", "value": "large"}, "password": map[string]any{"type": "SecureString"}})
		if !reflect.DeepEqual(p.Outputs, shown) || !reflect.DeepEqual(p.Parameters, shown) {
			t.Errorf("outputs %v, parameters %v", p.Outputs, p.Parameters)
		}
		var made []string
		for _, r := range p.OutputResources {
			made = append(made, value(r.ID))
		}
		if slices.Sort(made); !slices.Equal(made, []string{a, b}) {
			t.Errorf("it made %v", made)
		}
		if len(p.Dependencies) != 1 || value(p.Dependencies[0].ID) != b || len(p.Dependencies[0].DependsOn) != 1 || value(p.Dependencies[0].DependsOn[0].ID) != a {
			t.Errorf("dependencies %+v", p.Dependencies)
		}
		if len(p.Providers) != 1 || value(p.Providers[0].Namespace) != "Contoso.Compute" || len(p.Providers[0].ResourceTypes) != 1 || len(p.Providers[0].ResourceTypes[0].Locations) != 2 {
			t.Errorf("providers %+v", p.Providers)
		}
	}
	wantTwo(finish(t, create).DeploymentExtended)
	c.WantOnlyIn(t, "westus", a)
	c.WantOnlyIn(t, "eastus", b)
	got, err := c.deployments.Get(ctx, "RG", "TWO", nil)
	harness.OK(t, err)
	wantTwo(got.DeploymentExtended)
	wantDeployment("two", true)

	// What it did, and what it would do.
	steps, _ := collect(t, c.operations.NewListPager("rg", "two", &armresources.DeploymentOperationsClientListOptions{Top: to.Ptr[int32](1)}),
		func(p armresources.DeploymentOperationsClientListResponse) []*armresources.DeploymentOperation {
			return p.Value
		})
	if len(steps) != 2 {
		t.Fatalf("%d operations", len(steps))
	}
	for _, listed := range steps {
		one, err := c.operations.Get(ctx, "rg", "two", value(listed.OperationID), nil)
		harness.OK(t, err)
		if p := one.Properties; value(one.ID) != id+"two/operations/"+value(listed.OperationID) || *p.ProvisioningOperation != armresources.ProvisioningOperationCreate ||
			value(p.ProvisioningState) != "Succeeded" || value(p.StatusCode) != "Created" || p.Timestamp == nil || !slices.Contains([]string{a, b}, value(p.TargetResource.ID)) || !reflect.DeepEqual(p, listed.Properties) {
			t.Errorf("%+v", p)
		}
	}
	_, err = c.operations.Get(ctx, "rg", "two", "0123456789ABCDEF", nil)
	wantError(t, err, 404, "DeploymentOperationNotFound")
	asking := armresources.DeploymentWhatIf{Properties: &armresources.DeploymentWhatIfProperties{Mode: two.Properties.Mode, Template: template, Parameters: two.Properties.Parameters}}
	whatIf, err := c.deployments.BeginWhatIf(ctx, "rg", "two", asking, nil)
	harness.OK(t, err)
	changes := finish(t, whatIf).Properties.Changes
	for _, change := range changes {
		if *change.ChangeType != armresources.ChangeTypeNoChange {
			t.Errorf("%s: %s %v", value(change.ResourceID), *change.ChangeType, change.Delta)
		}
	}
	if len(changes) != 2 {
		t.Errorf("%d changes", len(changes))
	}
	exported, err := c.deployments.ExportTemplate(ctx, "rg", "two", nil)
	harness.OK(t, err)
	if !reflect.DeepEqual(exported.Template, any(template)) {
		t.Errorf("exported %v", exported.Template)
	}
	_, err = c.deployments.Cancel(ctx, "rg", "two", nil)
	wantError(t, err, 409, "DeploymentNotRunning")

	// The same once more is an update, and one that fails says why, in its provider's words.
	update, err := c.deployments.BeginCreateOrUpdate(policy.WithCaptureResponse(ctx, &raw), "rg", "two", two, nil)
	harness.OK(t, err)
	if raw.StatusCode != 200 {
		t.Errorf("status %d", raw.StatusCode)
	}
	wantTwo(finish(t, update).DeploymentExtended)
	c.misbehave(t, "status=409")
	other := deploying(template, map[string]any{"size": map[string]any{"value": "large"}, "password": map[string]any{"value": "another-word"}})
	failing, err := c.deployments.BeginCreateOrUpdate(ctx, "rg", "failed", other, nil)
	harness.OK(t, err)
	_, err = end(t, failing)
	wantError(t, err, 200, "DeploymentFailed")
	failed, err := c.deployments.Get(ctx, "rg", "failed", nil)
	harness.OK(t, err)
	if e := failed.Properties.Error; *failed.Properties.ProvisioningState != armresources.ProvisioningStateFailed || value(e.Code) != "DeploymentFailed" ||
		len(e.Details) != 1 || value(e.Details[0].Target) != a || value(e.Details[0].Code) != "ContosoFault" {
		t.Errorf("%+v", e)
	}
	if hash := value(failed.Properties.TemplateHash); hash != value(got.Properties.TemplateHash) {
		t.Errorf("with another password, the hash of the template is %s", hash)
	}
	c.wantSteps(t, "failed", "a Failed Conflict ContosoFault")

	// One that runs is canceled. What its provider refuses for now is tried again until then.
	c.misbehave(t, "status=503")
	running, err := c.deployments.BeginCreateOrUpdate(ctx, "rg", "running", two, nil)
	harness.OK(t, err)
	harness.Await(t, endBound, "a step that its provider refuses", func() bool {
		return slices.ContainsFunc(c.Contoso("westus").Requests(t), func(r harness.Received) bool { return r.Method == http.MethodPut })
	})
	_, err = c.deployments.BeginCreateOrUpdate(ctx, "rg", "running", two, nil)
	wantError(t, err, 409, "DeploymentActive")
	_, err = c.deployments.BeginDelete(ctx, "rg", "running", nil)
	wantError(t, err, 409, "DeploymentActive")
	wantListed := func(filter string, want ...string) {
		t.Helper()
		all, pages := collect(t, c.deployments.NewListByResourceGroupPager("rg", &armresources.DeploymentsClientListByResourceGroupOptions{Filter: to.Ptr(filter), Top: to.Ptr[int32](1)}),
			func(p armresources.DeploymentsClientListByResourceGroupResponse) []*armresources.DeploymentExtended {
				return p.Value
			})
		var names []string
		for _, d := range all {
			names = append(names, value(d.Name))
		}
		if slices.Sort(names); !slices.Equal(names, want) || pages < len(want) {
			t.Errorf("%s: %v in %d pages, want %v", filter, names, pages, want)
		}
	}
	wantListed("provisioningState eq 'Running'", "running")
	_, err = c.deployments.Cancel(ctx, "rg", "running", nil)
	harness.OK(t, err)
	_, err = end(t, running)
	wantError(t, err, 200, "DeploymentCanceled")
	wantListed("", "failed", "running", "two")
	wantListed("provisioningState eq 'Succeeded'", "two")
	wantListed("provisioningState eq 'Canceled'", "running")
	wantListed("provisioningState eq 'Running'")

	// What it made outlives a deployment.
	for range 2 {
		remove, err := c.deployments.BeginDelete(ctx, "rg", "two", nil)
		harness.OK(t, err)
		finish(t, remove)
	}
	wantDeployment("two", false)
	c.WantOnlyIn(t, "westus", a)
}

// A deployment to the subscription makes a group and, by a nested one, what is in it.
func TestDeploymentsToASubscription(t *testing.T) {
	t.Parallel()
	c := newDeployments(t)
	ctx := t.Context()
	template := templateOf(t, `{`+templateHead+`, "parameters": {"group": {"type": "string"}}, "resources": [
	  {"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2021-04-01", "name": "[parameters('group')]", "location": "westus"},
	  {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "inner", "resourceGroup": "[parameters('group')]", "dependsOn": ["[parameters('group')]"],
	    "properties": {"mode": "Incremental", "template": {`+templateHead+`, "resources": [
	      {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "eastus", "properties": {}}]}}}]}`)
	whole := deploying(template, map[string]any{"group": map[string]any{"value": "made"}})
	_, err := c.deployments.BeginCreateOrUpdateAtSubscriptionScope(ctx, "whole", whole, nil)
	wantError(t, err, 400, "InvalidDeployment")
	whole.Location = to.Ptr("mars")
	_, err = c.deployments.BeginCreateOrUpdateAtSubscriptionScope(ctx, "whole", whole, nil)
	wantError(t, err, 400, "LocationNotAvailableForDeployment")
	whole.Location = to.Ptr("West US")

	validation, err := c.deployments.BeginValidateAtSubscriptionScope(ctx, "whole", whole, nil)
	harness.OK(t, err)
	if valid := finish(t, validation); *valid.Properties.ProvisioningState != armresources.ProvisioningStateSucceeded {
		t.Errorf("%+v", valid.Properties)
	}
	create, err := c.deployments.BeginCreateOrUpdateAtSubscriptionScope(ctx, "whole", whole, nil)
	harness.OK(t, err)
	if made := finish(t, create); value(made.ID) != c.SubscriptionPath()+"/providers/Microsoft.Resources/deployments/whole" || value(made.Location) != "westus" || *made.Properties.ProvisioningState != armresources.ProvisioningStateSucceeded {
		t.Errorf("%+v %+v", made, made.Properties)
	}
	elsewhere := whole
	elsewhere.Location = to.Ptr("eastus")
	_, put := c.deployments.BeginCreateOrUpdateAtSubscriptionScope(ctx, "Whole", elsewhere, nil)
	_, validate := c.deployments.BeginValidateAtSubscriptionScope(ctx, "whole", elsewhere, nil)
	for _, err := range []error{put, validate} {
		wantError(t, err, 409, "InvalidDeploymentLocation")
	}
	machine := c.ResourcePath("made", "Contoso.Compute/virtualMachines/a")
	c.WantOnlyIn(t, "eastus", machine)
	for name, at := range map[string]string{"whole": c.SubscriptionPath(), "inner": c.GroupPath("made")} {
		byScope, err := c.deployments.GetAtScope(ctx, at, name, nil)
		harness.OK(t, err)
		if exists, err := c.deployments.CheckExistenceAtScope(ctx, at, name, nil); err != nil || !exists.Success || value(byScope.ID) != at+"/providers/Microsoft.Resources/deployments/"+name {
			t.Errorf("%s: %v %v %v", name, value(byScope.ID), exists.Success, err)
		}
		listed, _ := collect(t, c.deployments.NewListAtScopePager(at, nil),
			func(p armresources.DeploymentsClientListAtScopeResponse) []*armresources.DeploymentExtended {
				return p.Value
			})
		if len(listed) != 1 || value(listed[0].Name) != name {
			t.Errorf("%d deployments at %s", len(listed), at)
		}
		steps, _ := collect(t, c.operations.NewListAtScopePager(at, name, nil),
			func(p armresources.DeploymentOperationsClientListAtScopeResponse) []*armresources.DeploymentOperation {
				return p.Value
			})
		if len(steps) != map[string]int{"whole": 2, "inner": 1}[name] {
			t.Errorf("%d operations of %s", len(steps), name)
		}
	}
	steps, _ := collect(t, c.operations.NewListAtSubscriptionScopePager("whole", nil),
		func(p armresources.DeploymentOperationsClientListAtSubscriptionScopeResponse) []*armresources.DeploymentOperation {
			return p.Value
		})
	for _, listed := range steps {
		one, err := c.operations.GetAtSubscriptionScope(ctx, "whole", value(listed.OperationID), nil)
		harness.OK(t, err)
		if value(one.Properties.ProvisioningState) != "Succeeded" || !reflect.DeepEqual(one.Properties, listed.Properties) {
			t.Errorf("%+v", one.Properties)
		}
	}
	exported, err := c.deployments.ExportTemplateAtSubscriptionScope(ctx, "whole", nil)
	harness.OK(t, err)
	if !reflect.DeepEqual(exported.Template, any(template)) {
		t.Errorf("exported %v", exported.Template)
	}
	_, err = c.deployments.CancelAtSubscriptionScope(ctx, "whole", nil)
	wantError(t, err, 409, "DeploymentNotRunning")
	remove, err := c.deployments.BeginDeleteAtSubscriptionScope(ctx, "whole", nil)
	harness.OK(t, err)
	finish(t, remove)
	if exists, err := c.deployments.CheckExistenceAtSubscriptionScope(ctx, "whole", nil); err != nil || exists.Success {
		t.Errorf("it exists after its delete: %v", err)
	}
	c.WantOnlyIn(t, "eastus", machine)
}

// A template that is none, or whose resources would be refused, says so before anything is
// sent, by the PUT and by validate alike: the code of the fault, and what it is about.
func TestDeploymentsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newDeployments(t)
	c.createGroup(t, "rg")
	given := map[string]any{"size": map[string]any{"value": "large"}, "password": map[string]any{"value": "hidden-word"}}
	for name, r := range map[string]struct {
		template   any
		parameters map[string]any
		code       string
		says       []string // each in the answer
	}{
		"no function":   {templateOf(t, strings.Replace(twoMachines, "reference('b')", "referenced('b')", 1)), given, "InvalidTemplate", []string{"referenced", "outputs.size.value"}},
		"no parameter":  {templateOf(t, twoMachines), map[string]any{"size": given["size"]}, "InvalidTemplate", []string{"password"}},
		"a cycle":       {templateOf(t, strings.Replace(twoMachines, `"name": "a",`, `"name": "a", "dependsOn": ["b"],`, 1)), given, "InvalidTemplate", []string{"b → a → b", "$.properties.template.resources[0]"}},
		"no such place": {templateOf(t, strings.Replace(twoMachines, `"westus"`, `"mars"`, 1)), given, "InvalidTemplateDeployment", []string{`"code":"LocationNotAvailableForResourceType"`, `"target":"` + c.ResourcePath("rg", "Contoso.Compute/virtualMachines/a") + `"`}},
		"a mere text":   {"no template", given, "InvalidTemplate", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := deploying(r.template, r.parameters)
			_, put := c.deployments.BeginCreateOrUpdate(t.Context(), "rg", "refused", d, nil)
			_, validate := c.deployments.BeginValidate(t.Context(), "rg", "refused", d, nil)
			for _, err := range []error{put, validate} {
				wantError(t, err, 400, r.code)
				for _, part := range r.says {
					if text := strings.ReplaceAll(err.Error(), `": "`, `":"`); !strings.Contains(text, part) {
						t.Errorf("it does not say %s: %s", part, text)
					}
				}
			}
		})
	}
	_, err := c.deployments.BeginCreateOrUpdateAtManagementGroupScope(t.Context(), "m", "refused", armresources.ScopedDeployment{Location: to.Ptr("westus"), Properties: deploying(map[string]any{}, nil).Properties}, nil)
	wantError(t, err, 400, "ResourceTypeNotSupported")
	if listed, _ := collect(t, c.deployments.NewListByResourceGroupPager("rg", nil),
		func(p armresources.DeploymentsClientListByResourceGroupResponse) []*armresources.DeploymentExtended {
			return p.Value
		}); len(listed) > 0 {
		t.Errorf("%d deployments are left", len(listed))
	}
}

// misbehave has the provider in westus commit a fault by each further PUT, and forget which
// requests it got.
func (c deploymentClients) misbehave(t *testing.T, fault string) {
	t.Helper()
	westus := c.Contoso("westus")
	westus.Do(t, harness.Request{Method: http.MethodDelete, Path: "/contoso/faults"}).Want(t, 204)
	westus.Do(t, harness.Request{Method: http.MethodPost, Path: "/contoso/faults", Body: `{"method":"PUT","pathContains":"/virtualMachines/","fault":"` + fault + `","count":-1}`}).Want(t, 201)
	westus.ForgetRequests(t)
}

// wantSteps expects the operations of a deployment of the group rg, each as its target's name,
// its state, its status, and the code of its error.
func (c deploymentClients) wantSteps(t *testing.T, name string, want ...string) {
	t.Helper()
	steps, _ := collect(t, c.operations.NewListPager("rg", name, nil),
		func(p armresources.DeploymentOperationsClientListResponse) []*armresources.DeploymentOperation {
			return p.Value
		})
	var got []string
	for _, s := range steps {
		p := s.Properties
		words := []string{value(p.TargetResource.ResourceName), value(p.ProvisioningState), value(p.StatusCode)}
		if p.StatusMessage != nil {
			words = append(words, value(p.StatusMessage.Error.Code))
		}
		got = append(got, strings.Join(words, " "))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("operations of %s: %q, want %q", name, got, want)
	}
}
