package sdk

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// atOnce returns the result of an operation that ended in its first answer.
func atOnce[T any](t *testing.T, poller *runtime.Poller[T], err error) (result T) {
	t.Helper()
	harness.OK(t, err)
	if !poller.Done() {
		t.Fatal("it has to be polled")
	}
	result, err = poller.Result(t.Context())
	harness.OK(t, err)
	return result
}

// What ends soon needs no poll, and what fails soon has its code, as the SDK sees it.
func TestFirstAnswers(t *testing.T) {
	t.Parallel()
	c := deploymentsBy(t, "operations: {firstAnswer: 60s}")
	ctx := t.Context()
	c.createGroup(t, "rg")
	c.createGroup(t, "other")
	two := deploying(templateOf(t, twoMachines), map[string]any{"size": map[string]any{"value": "large"}, "password": map[string]any{"value": "hidden-word"}})
	for range 2 {
		create, err := c.deployments.BeginCreateOrUpdate(ctx, "rg", "two", two, nil)
		if got := atOnce(t, create, err); *got.Properties.ProvisioningState != armresources.ProvisioningStateSucceeded || len(got.Properties.OutputResources) != 2 {
			t.Errorf("%+v", got.Properties)
		}
	}
	info := armresources.MoveInfo{TargetResourceGroup: to.Ptr(c.GroupPath("other")), Resources: to.SliceOfPtrs(c.ResourcePath("rg", "Contoso.Compute/virtualMachines/a"))}
	validation, err := c.resources.BeginValidateMoveResources(ctx, "rg", info, nil)
	atOnce(t, validation, err)
	move, err := c.resources.BeginMoveResources(ctx, "rg", info, nil)
	atOnce(t, move, err)
	forget, err := c.deployments.BeginDelete(ctx, "rg", "two", nil)
	atOnce(t, forget, err)
	remove, err := c.groups.BeginDelete(ctx, "other", nil)
	atOnce(t, remove, err)

	fails := func(method, path string) {
		t.Helper()
		for _, region := range []string{"westus", "eastus"} {
			c.Contoso(region).Do(t, harness.Request{Method: http.MethodPost, Path: "/contoso/faults", Body: `{"method":"` + method + `","pathContains":"` + path + `","fault":"status=409","count":1}`}).Want(t, 201)
		}
	}
	fails(http.MethodPut, "virtualMachines/a")
	create, err := c.deployments.BeginCreateOrUpdate(ctx, "rg", "two", two, nil)
	harness.OK(t, err)
	_, err = create.PollUntilDone(ctx, nil)
	wantError(t, err, 200, "DeploymentFailed")
	fails(http.MethodDelete, "virtualMachines/b")
	_, err = c.groups.BeginDelete(ctx, "rg", nil)
	wantError(t, err, 409, "ResourceGroupDeletionBlocked")
}
