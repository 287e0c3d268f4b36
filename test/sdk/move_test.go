package sdk

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// moved polls a move to its end.
func moved[T any](t *testing.T, poller *runtime.Poller[T], err error) error {
	t.Helper()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), endBound)
	defer cancel()
	for !poller.Done() {
		if _, err := poller.Poll(ctx); err != nil { //nolint:bodyclose // the poller has read and closed it
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, err = poller.Result(ctx)
	return err
}

func TestMoveResources(t *testing.T) {
	c := newClients(t, harness.Config{})
	ids := c.fillGroup(t, "from")
	c.createGroup(t, "to")
	info := armresources.MoveInfo{TargetResourceGroup: to.Ptr(c.GroupPath("to")), Resources: to.SliceOfPtrs(ids...)}
	validation, err := c.resources.BeginValidateMoveResources(t.Context(), "from", info, nil)
	if err := moved(t, validation, err); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if !c.exists(t, id) {
			t.Errorf("%s has gone by a mere question", id)
		}
	}
	move, err := c.resources.BeginMoveResources(t.Context(), "from", info, nil)
	if err := moved(t, move, err); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if c.exists(t, id) {
			t.Errorf("%s is still there", id)
		}
		if there := strings.Replace(id, "/from/", "/to/", 1); !c.exists(t, there) {
			t.Errorf("%s is not there", there)
		}
	}
	deleteGroup(t, c, "from")
}

// The SDK yields the code, and each resource with its provider's own words.
func TestMoveResourcesThatAreRefused(t *testing.T) {
	c := newClients(t, harness.Config{})
	ids := c.fillGroup(t, "from")
	c.createGroup(t, "to")
	other := c.ResourcePath("from", "Contoso.Compute/networkInterfaces/nic")
	c.put(t, t.Context(), other, armresources.GenericResource{Location: to.Ptr("westus"), Properties: map[string]any{"linkedTo": ids[0]}})
	info := armresources.MoveInfo{TargetResourceGroup: to.Ptr(c.GroupPath("to")), Resources: to.SliceOfPtrs(ids...)}
	move, err := c.resources.BeginMoveResources(t.Context(), "from", info, nil)
	var failure *azcore.ResponseError
	if err := moved(t, move, err); !errors.As(err, &failure) || failure.StatusCode != 409 || failure.ErrorCode != "ResourceMoveFailed" {
		t.Fatalf("%v", err)
	}
	text, err := io.ReadAll(failure.RawResponse.Body)
	if err != nil || !strings.Contains(string(text), `"target":"`+ids[0]) || !strings.Contains(string(text), "MissingMoveDependentResources") || strings.Contains(string(text), `"target":"`+ids[1]) {
		t.Errorf("%s %v", text, err)
	}
	validation, err := c.resources.BeginValidateMoveResources(t.Context(), "from", armresources.MoveInfo{
		TargetResourceGroup: to.Ptr(c.GroupPath("to")), Resources: []*string{to.Ptr(other)},
	}, nil)
	if err := moved(t, validation, err); !errors.As(err, &failure) || failure.ErrorCode != "ResourceMoveProviderValidationFailed" {
		t.Errorf("%v", err)
	}
	_, err = c.resources.BeginMoveResources(t.Context(), "from", armresources.MoveInfo{TargetResourceGroup: to.Ptr(c.GroupPath("none")), Resources: info.Resources}, nil)
	wantError(t, err, 400, "ResourceGroupNotFound")
}
