package sdk

import (
	"context"
	"strings"
	"testing"
	"time"

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
	harness.OK(t, moved(t, validation, err))
	for _, id := range ids {
		if !c.exists(t, id) {
			t.Errorf("%s has gone by a mere question", id)
		}
	}
	move, err := c.resources.BeginMoveResources(t.Context(), "from", info, nil)
	harness.OK(t, moved(t, move, err))
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
