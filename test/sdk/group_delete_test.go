package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// fillGroup makes a group with a machine in each region.
func (c clients) fillGroup(t *testing.T, name string) (ids []string) {
	t.Helper()
	c.createGroup(t, name)
	for _, region := range harness.RegionNames() {
		id := c.ResourcePath(name, "Contoso.Compute/virtualMachines/vm-"+region)
		c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr(region)})
		ids = append(ids, id)
	}
	return ids
}

func TestGroupDeleteWithItsResources(t *testing.T) {
	c := newClients(t, harness.Config{})
	ids := c.fillGroup(t, "rg")
	deleteGroup(t, c, "rg")
	for _, id := range ids {
		c.WantOnlyIn(t, "", id)
	}
	if groupExists(t, c, "rg") {
		t.Error("the group exists after its delete")
	}
	c.fillGroup(t, "rg")
}

// The SDK yields the code and what is left, and why.
func TestGroupDeleteThatIsBlocked(t *testing.T) {
	c := newClients(t, harness.Config{})
	ids := c.fillGroup(t, "rg")
	c.Contoso("eastus").Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults", Body: `{"method":"DELETE","pathContains":"vm-eastus","fault":"status=423","count":-1}`,
	}).Want(t, 201)
	poller, err := c.groups.BeginDelete(t.Context(), "rg", nil)
	harness.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), endBound)
	defer cancel()
	for !poller.Done() {
		if _, err := poller.Poll(ctx); err != nil { //nolint:bodyclose // the poller has read and closed it
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, err = poller.Result(ctx)
	var failure *azcore.ResponseError
	if !errors.As(err, &failure) || failure.StatusCode != 409 || failure.ErrorCode != "ResourceGroupDeletionBlocked" {
		t.Fatalf("%v", err)
	}
	text, err := io.ReadAll(failure.RawResponse.Body)
	harness.OK(t, err)
	var told struct {
		Error struct {
			Details []struct{ Code, Target, Message string }
		}
	}
	harness.OK(t, json.Unmarshal(text, &told))
	if details := told.Error.Details; len(details) != 1 || details[0].Target != ids[1] || details[0].Code != "ContosoFault" || strings.Contains(details[0].Message, "{") {
		t.Errorf("%s", text)
	}
	if !strings.Contains(failure.Error(), "vm-eastus") {
		t.Errorf("%v", failure)
	}
}
